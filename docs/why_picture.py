"""The picture of an explanation in docs/sessions.md: ``python docs/why_picture.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

import superarm as sa
from superarm.reporting.figures import STYLE, WIDTH, as_svg
from superarm.reporting.palette import FAINT

N_ARTICLES, K, N_ROUNDS = 40, 5, 60


def main() -> None:
    """Play some rounds, and explain the next decision."""
    rng = np.random.default_rng(0)
    names = [f"article-{number}" for number in range(N_ARTICLES)]
    means = dict(zip(names, rng.random(N_ARTICLES), strict=True))
    policy = sa.cts(sa.LinearReward(N_ARTICLES), k=K, oracle=sa.LazySingletons())
    session = sa.Session(policy, names, seed=1)
    for _ in range(N_ROUNDS):
        decision = session.ask()
        outcomes = {name: float(rng.random() < means[name]) for name in decision.arms}
        session.tell(decision.id, outcomes)
    why = session.explain(session.ask().id)
    with matplotlib.rc_context(STYLE):
        figure = why.figure()
        figure.set_size_inches(WIDTH, figure.get_figheight())
        # The grid's own colour is for white paper.
        figure.axes[0].grid(axis="x", color=FAINT, alpha=0.4)
        (Path(__file__).parent / "why.svg").write_text(as_svg(figure))


if __name__ == "__main__":
    main()
