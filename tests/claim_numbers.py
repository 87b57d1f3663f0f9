"""Made-up numbers of experiments, for the rules that judge claims."""

from superarm.studies.paper.verdicts import Verdict

YES, PARTLY, NO, OPEN, UNJUDGED = (
    Verdict.REPRODUCED,
    Verdict.CONDITIONALLY,
    Verdict.NOT_REPRODUCED,
    Verdict.UNDECIDED,
    Verdict.NOT_JUDGED,
)
STEPS = (-1, -0.5, 0, 0.5, 1)  # of five runs about their mean


def interval(low, high):
    return {"mean": (low + high) / 2, "low": low, "high": high}


def policy(ratio=1.0, spread=0.0, evaluations=302.0, exponent=0.5, tenfold=1.0):
    """Five runs about ``ratio`` × the regret of CTS, which is 100 in each."""
    return {
        "regret": [100 * (ratio + step * spread) for step in STEPS],
        "minus_cts": interval(100 * ratio - 100, 100 * ratio - 100),
        "of_random": interval(0.5, 0.5),
        "evaluations_per_round": evaluations,
        "exponents": [exponent + step * spread for step in STEPS],
        "tenfolds": [tenfold + step * spread for step in STEPS],
    }


def figure(ours, exact=None, **others):
    """An experiment at the paper's size in which p=1/m is the best setting."""
    policies = {"CTS": exact or policy(evaluations=5000), "GT+QTS, p=1/2": policy(8, exponent=1.0)}
    return {
        "policies": {**policies, "GT+QTS, p=1/m": ours, **others},
        "n_arms": 5000,
        "horizon": 10_000,
    }


def law(name="best arms at 0.7", of_cts=(4, 5), exponent=(0.4, 0.5), cts=0.9, family="linear"):
    """An entry of the experiment on other instances, with CTS's regret over the baseline's."""
    return {
        "family": family,
        "law": name,
        "t": 2000,
        "of_cts": interval(*of_cts),
        "exponent_minus_cts": interval(*exponent),
        "cts_of_random": interval(cts, cts),
    }


def sensitivity(*laws):
    return {"found": list(laws), "n_arms": 5000, "horizon": 10_000}


NO_READINGS = {"policies": {"CTS": policy()}, "n_arms": 5000, "horizon": 10_000}
NOWHERE = sensitivity(law())


def at_paper(log10_q):
    """Lemma 1's numbers of tests at the paper's size."""
    return {"n_arms": 5000, "lemma_m_is_k": 10, "lemma_m_is_n_arms": 10, "log10_q": log10_q}
