"""Claims about separability: figure 1 and Theorem 2."""

from __future__ import annotations

from superarm.studies.paper.verdicts import (
    Judged,
    Numbers,
    Statement,
    Verdict,
    above,
    both,
    shown_interval,
)


def non_separable_rounds(fig1: Numbers) -> Judged:
    """Non-separable rounds grow faster than log(t) / gap², and faster than one tenfold before."""
    found = fig1["found"]
    each = {
        label: both(above(one["growth_over_reference"], 1.0), above(one["growth_over_before"], 1.0))
        for label, one in found.items()
    }
    faster = [label for label, verdict in each.items() if verdict is Verdict.REPRODUCED]
    if len(faster) == len(each):
        verdict, because = (
            Verdict.REPRODUCED,
            "both growths are above log(t)'s for every policy and size",
        )
    elif faster:
        verdict, because = Verdict.CONDITIONALLY, f"the condition: {'; '.join(faster)}"
    elif any(one is Verdict.UNDECIDED for one in each.values()):
        verdict, because = (
            Verdict.UNDECIDED,
            "no policy's and size's intervals are above 1, and not all are below",
        )
    else:
        verdict, because = (
            Verdict.NOT_REPRODUCED,
            "a growth is below log(t)'s for every policy and size",
        )
    slowest = min(found, key=lambda label: found[label]["growth_over_before"]["mean"])
    shares = "; ".join(f"{label}: {one['share']:.0%}" for label, one in found.items())
    return Judged(
        f"share of all rounds: {shares}",
        f"last tenfold's growth over the one before, slowest ({slowest}): "
        f"{shown_interval(found[slowest]['growth_over_before'], ' ×')}",
        verdict,
        because,
    )


def networks_are_separable(theory: Numbers) -> Judged:
    """Two-layer networks are separable: one violation with the paper's weights refutes it."""
    networks = theory["networks"]
    steepest = next(iter(networks))
    violated = [std for std, found in networks.items() if found["improved"]]
    clean = [std for std, found in networks.items() if not found["improved"]]
    # One violation refutes a theorem. No number of searches without one proves it.
    if not violated:
        verdict, because = (
            Verdict.UNDECIDED,
            "no violation was found, which does not prove that there is none",
        )
    elif steepest in violated:
        verdict = Verdict.NOT_REPRODUCED
        flat = (
            f"no violation was found when scaled by {' or '.join(clean)}"
            if clean
            else "and at every scale tried"
        )
        because = f"violated with the paper's own weights, {flat}"
    else:
        verdict = Verdict.CONDITIONALLY
        because = (
            f"the condition: the paper's weights; violated when scaled by {' or '.join(violated)}"
        )
    share = networks[steepest]["share"]
    return Judged(
        f"with weights |N(0, 1)| × {steepest}, a swap improves Oracle+'s set "
        f"for {share['mean']:.0%} of theta",
        f"{share['low']:.0%} to {share['high']:.0%}",
        verdict,
        because,
    )


SEPARABILITY = (
    Statement(
        "The number of rounds whose theta(t) is not C-separable grows faster than log(t) / gap².",
        "the cumulative number of non-separable instances grows faster than log(t) / Δ²min",
        "Section 3.2, Separability, and figure 1",
        "Figure 1 has no m, K or gap: these are those of figure 2(A), and smaller m.",
        ("fig1",),
        non_separable_rounds,
        {"fig1": {"n_arms": 5000, "horizon": 10_000}},
    ),
    Statement(
        "Two-layer networks with sigmoid neurons are separable (Theorem 2).",
        "a two-layer neural network (NN) also satisfies the separability assumption",
        "Section 2, after assumption 6, and Theorem 2 in appendix D",
        "Appendix D announces conditions on the weights and states none. The weights here are "
        "those of section 5, |N(0, 1)|, and smaller ones.",
        ("theory",),
        networks_are_separable,
    ),
)
