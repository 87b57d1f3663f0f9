"""How long paper-scale `superarm reproduce all` takes, next to plain numpy programs.

Every policy of figures 1, 2A, 2B and 2C on its problem: some rounds of each are timed side by side,
and multiplied by the number of rounds in the sweeps. Timed cells (table 1), the theory's cells and
those beyond the paper are left out. So are CUCB and greedy, for which a plain program would be the
same.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from scipy.special import expit

from suite.timing import side_by_side
from superarm.studies import Scale, paper
from superarm.studies.cell import canonical
from superarm.studies.cells.play import draw, make_policy

# The inclusion probability of each policy that makes tests, for sets of k of m arms.
INCLUSION = {
    "gt-qts": lambda m, k: 1 / 2,
    "gt-qts-two-thirds": lambda m, k: 2 / 3,
    "gt-qts-k-of-m": lambda m, k: k / m,
    "gt-qts-one-of-m": lambda m, k: 1 / m,
    "gt-naive": lambda m, k: 1 / 2,
    "gt-centred": lambda m, k: 1 / 2,
    "gt-centred-k-of-m": lambda m, k: k / m,
}


def plain(instance, spec, rng):
    """One round of the plain numpy program; None for policies without such a program."""
    m, k, reward = instance.n_arms, instance.k, instance.reward
    a, b = np.ones(m), np.ones(m)
    linear = not hasattr(reward, "W1")

    def tell(arms):
        outcomes = rng.random(k) < instance.mu[arms]
        a[arms] += outcomes
        b[arms] += 1 - outcomes

    def chance():
        tell(rng.choice(m, k, replace=False))

    def cts():
        theta = rng.beta(a, b)
        values = theta if linear else reward.w2 @ expit(reward.W1 * theta)
        tell(np.argpartition(values, -k)[-k:])

    if spec["name"] in ("random", "cts"):
        return {"random": chance, "cts": cts}[spec["name"]]
    if spec["name"] not in INCLUSION:
        return None
    p = INCLUSION[spec["name"]](m, k)
    width = spec["delta"] / (2 * max(0.5, float(np.max(reward.lipschitz))))

    def gt_qts():
        theta = rng.beta(a, b)
        A = (rng.random((spec["n_tests"], m)) < p).astype(float)
        rho = A @ theta if linear else expit((A * theta) @ reward.W1.T) @ reward.w2
        if spec["name"] != "gt-naive":
            rho = np.clip(np.round(rho / width) * width, width, reward.upper)
        if spec["name"].startswith("gt-centred"):
            rho = rho - rho.mean()
        tell(np.argpartition(rho @ A, -k)[-k:])

    return gt_qts


def ours(instance, spec, rng):
    """One round of superarm."""
    policy = make_policy(spec, instance, horizon=1)

    def play():
        arms = policy.ask(rng=rng)
        policy.tell(arms, instance.pull(arms, rng=rng), rng=rng)

    return play


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    rounds, what = Counter(), {}
    for name in ("fig1", "fig2a", "fig2b", "fig2c"):
        for cell in paper.load(name).cells(Scale()):
            key = canonical(
                {"problem": cell.settings["problem"], "policy": cell.settings["policy"]}
            )
            what[key] = cell.settings
            rounds[key, cell.run] = max(
                rounds[key, cell.run], cell.settings["horizon"]
            )  # shared cells run once
    total = Counter()
    for (key, _), n in rounds.items():
        total[key] += n
    sums = np.zeros(2)
    print(f"{'policy':28}{'arms':>6}{'rounds':>12}{'superarm ms':>13}{'numpy ms':>10}{'ratio':>8}")
    for key, n in total.items():
        settings = what[key]
        instance = draw(settings["problem"], rng=np.random.default_rng(0))
        other = plain(instance, settings["policy"], np.random.default_rng(1))
        if other is None:
            continue
        mine = ours(instance, settings["policy"], np.random.default_rng(1))
        found = side_by_side(
            {"superarm": mine, "numpy": other}, n_turns=turns, turn_s=0.0, most_s=10.0
        )
        each = np.array([found["superarm"].median_s, found["numpy"].median_s])
        sums += n * each
        label = settings["label"][:27]
        print(
            f"{label:28}{instance.n_arms:6}{n:12,}{1e3 * each[0]:13.3f}{1e3 * each[1]:10.3f}"
            f"{each[1] / each[0]:8.2f}"
        )
    print(
        f"all: superarm {sums[0]:,.0f} s of one core, plain numpy {sums[1]:,.0f} s: "
        f"{sums[1] / sums[0]:.2f} times"
    )


if __name__ == "__main__":
    main()
