"""The beliefs."""

from __future__ import annotations

from dataclasses import replace

from superarm import beliefs
from superarm.catalog.entries import REQUIRED, Parameter, Part, by_name

# Shared by all beliefs with Beta posteriors, so that pages and the service describe it in the same
# words everywhere.
_PRIOR = Parameter(
    "prior", "pair", "Beta prior (a, b): a - 1 successes, b - 1 failures.", (1.0, 1.0)
)
_SHARED = Parameter(
    "shared", "float", "Part of the seed that all arms share.", 0.8, least=0.0, most=1.0
)
# The same for beliefs whose default is one seed per arm.
_OWN_SEED = replace(_SHARED, default=0.0)
_NOISE = Parameter("noise_var", "float", "Variance of one outcome.", 0.25, least=0.0)
_OPTIMISM = Parameter("optimism", "float", "Raises the scores of rarely seen arms.", 0.5, least=0.0)
_SPREAD = Parameter("spread", "float", "Standard deviation of a score.", 0.5, least=0.0)
_HORIZON = Parameter("horizon", "int", "Rounds in all, if known.", None, least=1)
_DISCOUNT = Parameter(
    "discount",
    "float",
    "Share of the evidence that is left after one round.",
    0.99,
    least=0.0,
    most=1.0,
)
_STRUCTURE = Parameter(
    "structure",
    "choice",
    "How features and contexts are combined.",
    None,
    choices=("shared", "bilinear", "disjoint"),
)
_OF_FEATURES = (
    Parameter("features", "matrix", "Features, one row per arm.", REQUIRED),
    Parameter("context", "int", "Numbers per context, if there are any.", None, least=1),
    _STRUCTURE,
    _SHARED,
    _OPTIMISM,
    _SPREAD,
    _HORIZON,
    replace(_DISCOUNT, default=1.0),
)
_WITH_HYBRID = replace(_STRUCTURE, choices=(*_STRUCTURE.choices, "hybrid"))

# Limits (least, most) protect a service from values that a stranger sends. The classes check their
# arguments in any case. Entries are in the order of their names.
BELIEFS = by_name(
    Part(
        "beta",
        "BetaBelief",
        beliefs.BetaBelief,
        "Beta posteriors and Thompson sampling: the paper's belief, for outcomes from 0 to 1.",
        (_PRIOR,),
    ),
    Part(
        "cascading",
        "CascadingBelief",
        beliefs.CascadingBelief,
        "Beta posteriors for lists that are read from the top, perhaps until the first click.",
        (
            Parameter(
                "continues",
                "float",
                "Probability to read on after a click.",
                0.0,
                least=0.0,
                most=1.0,
            ),
            _PRIOR,
            _OWN_SEED,
        ),
    ),
    Part(
        "discounted",
        "DiscountedBetaBelief",
        beliefs.DiscountedBetaBelief,
        "Beta posteriors that forget gradually, for means that drift.",
        (
            _DISCOUNT,
            _PRIOR,
            _OWN_SEED,
        ),
    ),
    Part(
        "exp3",
        "Exp3Belief",
        beliefs.Exp3Belief,
        # Not over HTTP: its samples are probabilities, which every other oracle would take for
        # means.
        "Exp3.M weights for outcomes that follow no law. Needs the oracle DependentRounding.",
        (
            Parameter("k", "int", "Arms per set.", REQUIRED, least=1),
            Parameter("gamma", "float", "Share of exploration.", REQUIRED, least=0.0, most=1.0),
        ),
        over_http=False,
    ),
    Part(
        "flat_gaussian",
        "FlatGaussianBelief",
        beliefs.FlatGaussianBelief,
        "Normal posteriors with a flat prior, as in CTS-Gaussian and BG-CTS; every arm once first.",
        (
            _NOISE,
            Parameter("boost", "float", "Factor of the variances.", 1.0, least=1.0),
            Parameter("set_size", "int", "Arms of the largest set, for BG-CTS.", None, least=1),
            _OWN_SEED,
        ),
    ),
    Part(
        "gaussian",
        "GaussianBelief",
        beliefs.GaussianBelief,
        "Normal posteriors and Thompson sampling, for measured outcomes.",
        (
            Parameter("prior", "pair", "Mean and variance of the prior.", (0.5, 0.25)),
            _NOISE,
            _OWN_SEED,
        ),
    ),
    Part(
        "kl_ucb",
        "KLUCBBelief",
        beliefs.KLUCBBelief,
        "Upper confidence bounds by Kullback-Leibler divergence: tighter than UCB, slower.",
        (Parameter("c", "float", "Weight of the log log t term.", 0.0, least=0.0),),
    ),
    Part(
        "learned_beta",
        "LearnedBetaBelief",
        beliefs.LearnedBetaBelief,
        "Beta posteriors with a prior learned from all arms, for many arms and few rounds.",
        (
            _SHARED,
            replace(_OPTIMISM, default=0.4),
            _SPREAD,
            _HORIZON,
            Parameter(
                "stay_after",
                "int",
                "Good outcomes in a row to stay with an arm.",
                2,
                least=0,
                most=1000,
            ),
            Parameter("wide", "bool", "Whether an arm may be far above all others.", True),
        ),
    ),
    Part(
        "linear",
        "LinearBelief",
        beliefs.LinearBelief,
        "Linear model of features and contexts, for arms or rounds that something is known about.",
        _OF_FEATURES,
    ),
    Part(
        "logistic",
        "LogisticBelief",
        beliefs.LogisticBelief,
        "Logistic model of features and contexts, for outcomes of 0 and 1 at low rates.",
        tuple(_WITH_HYBRID if one is _STRUCTURE else one for one in _OF_FEATURES),
    ),
    Part(
        "mean",
        "MeanBelief",
        beliefs.MeanBelief,
        "The mean outcome of each arm so far, without exploration.",
        (
            Parameter(
                "unseen", "float", "Value of an arm without outcomes.", 1.0, least=0.0, most=1.0
            ),
        ),
    ),
    Part(
        "position_biased",
        "PositionBiasedBelief",
        beliefs.PositionBiasedBelief,
        "Beta posteriors for lists in which later places are looked at less often.",
        (
            Parameter("weights", "vector", "Probability that each place is looked at.", REQUIRED),
            _PRIOR,
            _OWN_SEED,
        ),
    ),
    Part(
        "shared_seed",
        "SharedSeedBelief",
        beliefs.SharedSeedBelief,
        "Beta posteriors, sampled with a random number of which arms share a part.",
        (_SHARED, _PRIOR),
    ),
    Part(
        "single_seed",
        "SingleSeedBelief",
        beliefs.SingleSeedBelief,
        "Beta posteriors, sampled with one uniform number shared by all arms.",
        (_PRIOR,),
    ),
    Part(
        "sliding",
        "SlidingBetaBelief",
        beliefs.SlidingBetaBelief,
        "Beta posteriors of the last rounds only, for means that jump.",
        (
            # A round in the window takes some 300 bytes, so that a million rounds are some 300 MB.
            Parameter(
                "window", "int", "Number of rounds that count.", 1000, least=1, most=1_000_000
            ),
            _PRIOR,
            _OWN_SEED,
        ),
    ),
    Part(
        "ucb",
        "UCBBelief",
        beliefs.UCBBelief,
        "Upper confidence bounds, as in CUCB.",
        (
            Parameter("exploration", "float", "Width of the bounds.", 1.5, least=0.0),
            Parameter("clip", "bool", "Whether bounds above 1 are cut at 1.", True),
        ),
    ),
)
