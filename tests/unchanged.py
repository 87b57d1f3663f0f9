"""Every named policy, oracle, belief and study on small problems, as digests of the decisions.

``tests/data/decisions.json`` has the digests of the package before it was laid out in rooms, and
``tests/data/sessions`` has session files that it wrote (`write_files`). `test_unchanged` plays
everything again: a redesign must not change a decision.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import parts
import superarm as sa

RECORDED = Path(__file__).parent / "data" / "decisions.json"
FILES = Path(__file__).parent / "data" / "sessions"
N_ARMS = 6
# Feasible sets that are played with every reward; the others with the network alone.
ANY_REWARD = ("k", "available", "quotas")
# Oracles within a knapsack: integer programs take up to 30 ms per round, so variants are left out.
IN_KNAPSACK = {
    "exhaustive",
    "singletons",
    "lazy singletons",
    "greedy",
    "lazy greedy",
    "local search from lazy greedy",
    "top k",
    "random sets",
    "escb",
    "dependent rounding",
    "group testing",
    "group testing, sparse",
}
# Parts that have another name now than in the recorded digests.
FORMER_NAMES = {"scheduled": "rarely"}

CHOICES = {
    "k": lambda: 2,
    "available": lambda: sa.Feasible(2, available=[0, 2, 3, 5], n_arms=N_ARMS),
    "quotas": lambda: sa.Feasible(
        3,
        must=[1],
        groups=[parts.Group([0, 1, 2], most=2), parts.Group([3, 4], least=1)],
        n_arms=N_ARMS,
    ),
    "knapsack": lambda: sa.Feasible(
        3, at_most=True, weights=np.linspace(0.5, 1.5, N_ARMS), budget=2.6
    ),
    "matchings": lambda: parts.Matchings([0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2]),
    "paths": lambda: parts.Paths([0, 0, 1, 2, 1, 3], [1, 2, 3, 3, 4, 4], 0, 4),
    "spanning trees": lambda: parts.SpanningTrees([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 3]),
}
REWARDS = {
    "linear": lambda: sa.LinearReward(N_ARMS),
    "network": lambda: sa.NetworkReward.random(N_ARMS, rng=np.random.default_rng(5)),
    "coverage": lambda: sa.CoverageReward(np.random.default_rng(5).random((N_ARMS, 4))),
}


def digest(value):
    """Sixteen digits that change with any decision, and with any number in its ninth digit.

    The last bits of a number depend on the processor, which decides how sums are ordered.
    """
    return hashlib.sha256(json.dumps(_rounded(value), sort_keys=True).encode()).hexdigest()[:16]


def _rounded(value):
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), _rounded(value.ravel().tolist())]
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def of_trace(trace):
    return digest(
        [digest(trace.arms.astype(np.int64)), digest(trace.outcomes), trace.evaluations.tolist()]
    )


def played(policy, horizon=40, n_arms=N_ARMS, environment=None):
    environment = environment or sa.BernoulliArms(np.linspace(0.1, 0.9, n_arms))
    return of_trace(
        sa.simulate(policy, environment, horizon=horizon, rng=np.random.default_rng(11))
    )


def or_refusal(case):
    """The digest, or the kind of error with which the parts refuse each other."""
    try:
        return case()
    except (ValueError, TypeError) as error:
        return type(error).__name__


def beliefs():
    """Every belief with `TopK`, for a plain k and within constraints."""
    for name, make in parts.BELIEFS.items():
        for choice in ("k", "available", "quotas"):
            policy = sa.Policy(make(N_ARMS), sa.TopK(), sa.LinearReward(N_ARMS), CHOICES[choice]())
            yield f"{name} / {choice}", lambda policy=policy: played(policy, 60)


def is_played(oracle, reward, choice):
    """Whether the group of oracles has this case."""
    if choice == "knapsack":
        return reward == "linear" and oracle in IN_KNAPSACK
    return reward == "network" or choice in ANY_REWARD


def oracles():
    """Every oracle for three rewards and seven kinds of feasible sets, without repetitions."""
    for name, (make, _) in parts.ORACLES.items():
        for reward in REWARDS:
            for choice in CHOICES:
                if not is_played(name, reward, choice):
                    continue

                def case(
                    make=make, reward=reward, choice=choice, horizon=2 if "lemma" in name else 25
                ):
                    policy = sa.Policy(
                        sa.BetaBelief(N_ARMS), make(), REWARDS[reward](), CHOICES[choice]()
                    )
                    return played(policy, horizon)

                yield f"{FORMER_NAMES.get(name, name)} / {reward} / {choice}", case


def budgets():
    """Every oracle that takes a budget, with a budget of five evaluations per round."""
    for name, (make, _) in parts.BUDGETED.items():
        if name == "group testing, fixed pools":
            continue  # of seven arms
        for choice in ("k", "quotas"):

            def case(make=make, choice=choice):
                return played(
                    sa.Policy(
                        sa.BetaBelief(N_ARMS), make(5), REWARDS["network"](), CHOICES[choice]()
                    ),
                    25,
                )

            yield f"{FORMER_NAMES.get(name, name)} / {choice}", case


def worlds():
    """Every environment, played by CTS, or by a policy that knows contexts if there are any."""
    for name, make in parts.ENVIRONMENTS.items():
        environment = make()

        def case(environment=environment, n=environment.n_arms):
            horizon = 3 if type(environment).__name__ == "ReplayEnvironment" else 60
            policy = sa.cts(sa.LinearReward(n), 2)
            if isinstance(environment, sa.environments.ContextualReplay):
                belief = sa.beliefs.LinearBelief(n, context=environment.contexts.shape[1])
                policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(n), 2)
            return played(policy, horizon, environment=environment)

        yield name, case


def larger():
    """The lazy oracles and the samplers where they are lazy: more arms, more rounds."""
    rng = np.random.default_rng(3)
    network, linear = (
        sa.network_instance(60, 4, 0.1, rng=rng),
        sa.linear_instance(300, 5, 0.2, rng=rng),
    )
    for name, oracle in {
        "lazy": sa.LazySingletons,
        "lazy greedy": sa.LazyGreedy,
        "top k": sa.TopK,
    }.items():
        for label, it in {"network": network, "linear": linear}.items():
            if name != "top k" or label == "linear":
                policy = sa.cts(it.reward, it.k, oracle=oracle())
                yield (
                    f"{name} / {label}",
                    lambda policy=policy, it=it: played(policy, 150, environment=it),
                )
    some = sa.Feasible(5, available=np.arange(0, 290), n_arms=300)
    yield (
        "top k, available",
        lambda: played(sa.cts(linear.reward, some, oracle=sa.TopK()), 150, environment=linear),
    )


def sampled():
    """Propensities, one by one and at once."""
    for name, oracle in {
        "top k": sa.TopK,
        "lazy": sa.LazySingletons,
        "singletons": sa.Singletons,
    }.items():

        def case(oracle=oracle):
            policy, rng = (
                sa.cts(sa.LinearReward(N_ARMS), 2, oracle=oracle()),
                np.random.default_rng(1),
            )
            for _ in range(20):
                arms = policy.ask(rng=rng)
                policy.tell(arms, (arms % 2).astype(float), rng=rng)
            return digest(parts.propensities(policy, n_samples=50, rng=rng).counts.astype(np.int64))

        yield name, case


def batches():
    """The batch engine."""
    draw = lambda rng: sa.linear_instance(20, 3, 0.2, rng=rng)  # noqa: E731
    for name, oracle in {
        "cts": sa.Singletons(),
        "gt": sa.GroupTesting(delta=0.2, n_tests=20),
    }.items():

        def case(oracle=oracle):
            trace = parts.simulate_batch(draw, oracle, n_runs=3, horizon=50, seed=2)
            return digest(np.asarray(trace.regret))

        yield name, case


def session_cases():
    """Policies in sessions: how each is made for a number of arms."""

    def network(n):
        return sa.NetworkReward.random(n, rng=np.random.default_rng(n))

    def top(belief):
        return lambda n=N_ARMS, k=2: sa.Policy(belief(n), sa.TopK(), sa.LinearReward(n), k)

    def cts(oracle, reward=sa.LinearReward):
        return lambda n=N_ARMS, k=2: sa.cts(reward(n), k, oracle=oracle())

    def regression(n=N_ARMS, k=2):
        return sa.gt_qts(sa.LinearReward(n), k, delta=0.25, n_tests=10, decoder="regression")

    def epsilon(n=N_ARMS, k=2):
        return parts.epsilon_greedy(sa.LinearReward(n), k, oracle=sa.LazySingletons())

    return {
        "cts lazy": cts(sa.LazySingletons, network),
        "lazy greedy": cts(sa.LazyGreedy, network),
        "regression": regression,
        "epsilon greedy": epsilon,
        "sliding": top(lambda n: parts.SlidingBetaBelief(n, 15)),
        "discounted": top(parts.DiscountedBetaBelief),
        "gaussian": top(sa.GaussianBelief),
        "cucb": lambda n=N_ARMS, k=2: sa.cucb(sa.LinearReward(n), k),
        "kl-ucb": top(sa.KLUCBBelief),
        "local search": cts(sa.LocalSearch),
        "rarely": cts(lambda: parts.Scheduled(sa.LazySingletons(), when=3)),
        "position biased": top(lambda n: parts.PositionBiasedBelief(n, [1.0, 0.5])),
    }


def converse(session, n_rounds):
    """Decisions with late and partial feedback, as plain data."""
    made = []
    for number in range(n_rounds):
        decision = session.ask()
        # In the order of their numbers, as decisions were when the digests were recorded.
        arms = sorted(decision.arms)
        if isinstance(session.policy.belief, parts.PositionBiasedBelief):
            unrank(session, decision)
        made.append([decision.id, arms])
        session.tell(decision.id, {arms[0]: number % 3 / 2})
        if number % 2:
            session.tell(decision.id, {arms[1]: number % 5 / 4})
    return made


def unrank(session, decision):
    """Make a decision as it was before decisions were ranked. Only places can tell."""
    record = session._unlocked.ledger.open[decision.id]
    record.decision = replace(decision, arms=tuple(sorted(decision.arms)), ranked=False)
    record.arms = np.sort(record.arms)


def new_session(make):
    return sa.Session(
        make(), list("abcdef"), seed=7, clock=lambda: 0.0, expiry=parts.Expiry(after_rounds=9)
    )


def sessions():
    """A session from its start, with an arm retired on the way."""
    for name, make in session_cases().items():

        def case(make=make):
            session = new_session(make)
            made = converse(session, 20)
            session.retire("c")
            made += converse(session, 10)
            return digest(made)

        yield name, case


def resumed():
    """Continue a session from a file that the older program wrote."""
    for name, make in session_cases().items():

        def case(name=name, make=make):
            session = sa.Session.load(
                FILES / f"{name.replace(' ', '-')}.superarm", make, clock=lambda: 0.0
            )
            return digest(converse(session, 20))

        yield name, case


def write_files():
    FILES.mkdir(exist_ok=True)
    for name, make in session_cases().items():
        session = new_session(make)
        converse(session, 25)
        session.save(FILES / f"{name.replace(' ', '-')}.superarm")


GROUPS = {
    group.__name__: group
    for group in (beliefs, oracles, budgets, worlds, larger, sampled, batches, sessions, resumed)
}  # fmt: skip
