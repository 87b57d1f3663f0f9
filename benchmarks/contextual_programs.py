"""Programs of several libraries that pick k of m arms by what is known of arms and rounds.

How each library picks a set is in its ``how``. Libraries are imported where they are used, so that
this file needs none of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Task:
    """What a program gets to know beforehand.

    Attributes
    ----------
    n_arms, k
        k of n_arms arms are picked.
    features
        Shape (n_arms, f), or None.
    n_context
        How many numbers a context has; 0 without contexts.
    """

    n_arms: int
    k: int
    features: Any
    n_context: int


class Program(Protocol):
    """One learner in use."""

    def choose(self, context: Any) -> Any:
        """The arms of this round."""

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        """Their outcomes."""


class Superarm:
    """A policy of superarm with the oracle `TopK`."""

    def __init__(self, task: Task, seed: int, name: str, **settings: Any) -> None:
        import superarm as sa
        from superarm import beliefs

        given = task.n_arms if task.features is None else task.features
        belief = getattr(beliefs, name)(given, context=task.n_context or None, **settings)
        self.policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(task.n_arms), task.k)
        self.rng = np.random.default_rng(seed)

    def choose(self, context: Any) -> Any:
        return self.policy.ask(rng=self.rng, **_known(context))

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        self.policy.tell(arms, outcomes, rng=self.rng, **_known(context))


class BayesianBandits:
    """One learner per arm over the context, or one for all arms over products with features."""

    def __init__(self, task: Task, seed: int, learner: str) -> None:
        import bayesianbandits as bb

        self.k, policy, make = task.k, bb.ThompsonSampling(), getattr(bb, learner)
        arms = range(task.n_arms)
        if task.features is None:
            own = [bb.Arm(arm, learner=make()) for arm in arms]
            self.agent: Any = bb.ContextualAgent(own, policy, random_seed=seed)
            return
        rows = np.hstack([np.ones((task.n_arms, 1)), task.features])

        class Products(bb.ArmFeaturizer):  # type: ignore[misc,name-defined]
            def transform(self, X: Any, *, action_tokens: Any) -> Any:
                of = rows[np.asarray(action_tokens)]
                return (of[:, :, None] * np.asarray(X)[0]).reshape(len(of), -1)

        every = [bb.Arm(arm, learner=None) for arm in arms]
        self.agent = bb.LipschitzContextualAgent(
            every, policy, Products(), make(), random_seed=seed
        )

    def choose(self, context: Any) -> Any:
        return np.array(self.agent.pull(_with_one(context), top_k=self.k)[0])

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        row = _with_one(context)
        for arm, outcome in zip(arms.tolist(), outcomes, strict=True):
            self.agent.select_for_update(arm).update(row, np.array([float(outcome)]))


class VowpalWabbit:
    """Conditional contextual bandits: k slots, each with its own outcome."""

    def __init__(self, task: Task, seed: int, options: str = "") -> None:
        from vowpalwabbit import Workspace

        pairs = "-q UA" if task.n_context else ""
        self.k = task.k
        self.model = Workspace(
            f"--ccb_explore_adf --quiet {pairs} --random_seed {seed + 1} {options}"
        )
        nothing = np.zeros((task.n_arms, 0)) if task.features is None else task.features
        self.actions = [f"ccb action |A i{arm} {_words(row)}" for arm, row in enumerate(nothing)]
        self.propensities: Any = None

    def choose(self, context: Any) -> Any:
        found = self.model.predict([*self._lines(context), *["ccb slot |"] * self.k])
        first = [slot[0] for slot in found]
        self.propensities = [one[1] for one in first]
        return np.array([one[0] for one in first])

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        told = zip(arms, outcomes, self.propensities, strict=True)
        slots = [f"ccb slot {arm}:{-float(outcome)}:{p} |" for arm, outcome, p in told]
        self.model.learn([*self._lines(context), *slots])

    def _lines(self, context: Any) -> list[str]:
        words = "" if context is None else _words(context)
        return [f"ccb shared |U {words}", *self.actions]


class VowpalWabbitDraws:
    """One action per decision; k draws without replacement from its probabilities."""

    def __init__(self, task: Task, seed: int, options: str) -> None:
        from vowpalwabbit import Workspace

        pairs = "-q UA" if task.n_context else ""
        self.k, self.rng = task.k, np.random.default_rng(seed)
        self.model = Workspace(f"--cb_explore_adf --quiet {pairs} {options}")
        nothing = np.zeros((task.n_arms, 0)) if task.features is None else task.features
        self.actions = [f"|A i{arm} {_words(row)}" for arm, row in enumerate(nothing)]
        self.propensities: Any = None

    def choose(self, context: Any) -> Any:
        self.propensities = np.array(self.model.predict(self._lines(context, self.actions)))
        p = np.maximum(self.propensities, 1e-12)
        return self.rng.choice(len(p), self.k, replace=False, p=p / p.sum())

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        # One decision per arm. The model learns from the action that was taken, the default
        # cost estimate (mtr), so the lines of the other actions are left out.
        for arm, outcome in zip(arms.tolist(), outcomes, strict=True):
            p = max(float(self.propensities[arm]), 1e-3)
            line = f"0:{-float(outcome)}:{p} {self.actions[arm]}"
            self.model.learn(self._lines(context, [line]))

    def _lines(self, context: Any, actions: list[str]) -> list[str]:
        words = "" if context is None else _words(context)
        return [f"shared |U {words}", *actions]


class Mabwiser:
    """One model per arm over the context; the k largest of its expectations."""

    def __init__(self, task: Task, seed: int, policy: str, **settings: Any) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        arms = list(range(task.n_arms))
        self.model = MAB(arms, getattr(LearningPolicy, policy)(**settings), seed=seed)
        self.n_arms, self.k, self.is_fitted = task.n_arms, task.k, False
        self.random = random.Random(seed)

    def choose(self, context: Any) -> Any:
        if not self.is_fitted:
            return np.array(self.random.sample(range(self.n_arms), self.k))
        found = self.model.predict_expectations(_with_one(context))
        return _largest(np.array([found[arm] for arm in range(self.n_arms)]), self.k)

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        fit = self.model.partial_fit if self.is_fitted else self.model.fit
        rows = np.repeat(_with_one(context), len(arms), axis=0)
        fit(arms.tolist(), np.asarray(outcomes, float).tolist(), rows)
        self.is_fitted = True


class ContextualBandits:
    """One model per arm over the context; its method topN."""

    def __init__(self, task: Task, seed: int, policy: str, **settings: Any) -> None:
        import contextualbandits.online as online

        make = getattr(online, policy)
        self.model = make(task.n_arms, random_state=seed + 1, njobs=1, **settings)
        self.task, self.random = task, random.Random(seed)

    def choose(self, context: Any) -> Any:
        if not self.model.is_fitted:
            return np.array(self.random.sample(range(self.task.n_arms), self.task.k))
        return np.asarray(self.model.topN(np.asarray(context, float)[None], self.task.k)[0])

    def learn(self, context: Any, arms: Any, outcomes: Any) -> None:
        rows = np.repeat(np.asarray(context, float)[None], len(arms), axis=0)
        self.model.partial_fit(rows, np.asarray(arms), np.asarray(outcomes, float))


@dataclass(frozen=True)
class System:
    """A library with settings.

    Attributes
    ----------
    label, package
        What tables call it, and the package whose version is recorded.
    make
        From a task and a seed.
    how
        How it picks a set.
    arm_features
        Whether it can use features of arms; otherwise it has the context alone.
    timed
        Whether its times are measured: one setting per library and way of picking is enough.
    """

    label: str
    package: str
    make: Callable[[Task, int], Program]
    how: str
    arm_features: bool = True
    timed: bool = True

    @property
    def version(self) -> str | None:
        """The installed version; None if it is not there."""
        if self.package == "superarm":
            import superarm

            return superarm.__version__
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


_TOP, _OWN_TOP = "the k largest of its scores, by hand", "its own top k"
_BAYES, _OURS = "bayesianbandits", "its oracle `TopK`"
SYSTEMS = [
    System("LinearBelief", "superarm", lambda t, s: Superarm(t, s, "LinearBelief"), _OURS),
    System("LogisticBelief", "superarm", lambda t, s: Superarm(t, s, "LogisticBelief"), _OURS),
    System(
        "bayesianbandits, linear",
        _BAYES,
        lambda t, s: BayesianBandits(t, s, "EmpiricalBayesNormalRegressor"),
        _OWN_TOP,
    ),
    System(
        "bayesianbandits, logistic",
        _BAYES,
        lambda t, s: BayesianBandits(t, s, "EmpiricalBayesGLM"),
        _OWN_TOP,
        timed=False,
    ),
    System("Vowpal Wabbit, CCB", "vowpalwabbit", VowpalWabbit, "k slots"),
    System(
        "Vowpal Wabbit, SquareCB",
        "vowpalwabbit",
        lambda t, s: VowpalWabbitDraws(t, s, "--squarecb"),
        "k draws from its probabilities, by hand",
    ),
    System(
        "mabwiser, LinTS",
        "mabwiser",
        lambda t, s: Mabwiser(t, s, "LinTS"),
        _TOP,
        arm_features=False,
    ),
    System(
        "mabwiser, LinTS, alpha 0.1",
        "mabwiser",
        lambda t, s: Mabwiser(t, s, "LinTS", alpha=0.1),
        _TOP,
        arm_features=False,
        timed=False,
    ),
    System(
        "contextualbandits, LinTS",
        "contextualbandits",
        lambda t, s: ContextualBandits(t, s, "LinTS"),
        _OWN_TOP,
        arm_features=False,
    ),
    System(
        "contextualbandits, LinTS, v_sq 0.01",
        "contextualbandits",
        lambda t, s: ContextualBandits(t, s, "LinTS", v_sq=0.01),
        _OWN_TOP,
        arm_features=False,
        timed=False,
    ),
]


def _known(context: Any) -> dict[str, Any]:
    return {} if context is None else {"context": context}


def _with_one(context: Any) -> Any:
    return np.append(1.0, [] if context is None else context)[None]


def _words(row: Any) -> str:
    return " ".join(f"{place}:{number:.5g}" for place, number in enumerate(row) if number)


def _largest(scores: Any, k: int) -> Any:
    return np.argpartition(scores, -k)[-k:]
