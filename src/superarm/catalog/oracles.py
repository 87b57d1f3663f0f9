"""The oracles."""

from __future__ import annotations

from superarm import oracles
from superarm.catalog.entries import REQUIRED, Parameter, Part, by_name

# Parameters that several oracles share are written once, so that they are described and limited
# alike.
_BUDGET = Parameter("budget", "int", "Most evaluations per round; empty for no limit.", least=1)
# A point takes 16 bytes per arm, so that 64 of them take a kilobyte per arm.
_POINTS = Parameter("n_points", "int", "Answers remembered per arm.", 16, least=4, most=64)
_BATCH = Parameter("batch", "int", "Arms evaluated together, at least.", 1, least=1)
_AUDITS = Parameter(
    "audits",
    "float",
    "Audits of the declarations in t rounds, as a multiple of the root of t.",
    2.0,
    least=0.0,
    most=1000.0,
)
# Of kind "oracle": its value is the description of another oracle, so that oracles nest.
_INNER = Parameter("oracle", "oracle", "The oracle that picks the best set.", REQUIRED)

# Oracles that read the counts of a belief must be made with it, so that they are not over HTTP.
_ERROR = Parameter("delta", "float", "Error probability.", 0.05, least=0.0, most=1.0)
_NOISY = (
    _ERROR,
    Parameter("noise_std", "float", "Bound on the noise of an answer; empty: learned.", least=0.0),
    Parameter("tolerance", "float", "How much better another choice may be.", 0.0, least=0),
    # A request waits for all of them.
    Parameter("budget", "int", "Most evaluations per round.", 100_000, least=1, most=1_000_000),
)

ORACLES = by_name(
    Part(
        "clucb",
        "CLUCB",
        oracles.CLUCB,
        "The arms that tell the best set from its rival, until it is certified. For sums.",
        (_ERROR,),
        over_http=False,
    ),
    Part(
        "dependent_rounding",
        "DependentRounding",
        oracles.DependentRounding,
        # Not over HTTP, like Exp3Belief, which is the only belief that it serves.
        "Samples a set in which each arm has its given probability. For Exp3Belief.",
        over_http=False,
    ),
    Part(
        "epsilon_random",
        "EpsilonRandom",
        oracles.EpsilonRandom,
        "Another oracle's set, or with probability epsilon a random one.",
        (
            _INNER,
            Parameter("epsilon", "float", "Probability of a random set.", 0.1, least=0.0, most=1.0),
        ),
    ),
    Part(
        "escb",
        "ESCBIndex",
        oracles.ESCBIndex,
        # Not over HTTP: it reads the counts of the belief, so it must be made with that belief.
        "One confidence bound for the whole set. For sums, with MeanBelief.",
        (
            Parameter("c", "float", "Weight of the log log t term.", 0.0, least=0.0),
            Parameter("limit", "int", "Most sets that are compared.", 10_000, least=1),
        ),
        over_http=False,
    ),
    Part(
        "exhaustive",
        "Exhaustive",
        oracles.Exhaustive,
        "Evaluates every feasible set: exact for every reward, for small problems only.",
        (
            # A tenth of the class's own default, because a request waits for the answer.
            Parameter(
                "limit", "int", "Most sets that are looked at.", 100_000, least=1, most=1_000_000
            ),
            _BUDGET,
        ),
    ),
    Part(
        "explore_then_commit",
        "ExploreThenCommit",
        oracles.ExploreThenCommit,
        "Tries every arm equally often, then keeps the best set.",
        (_INNER, Parameter("n_explore", "int", "Trials per arm.", REQUIRED, least=0)),
        over_http=False,
    ),
    Part(
        "greedy",
        "Greedy",
        oracles.Greedy,
        "Adds the arm that increases the value most, k times. Good for submodular rewards.",
        (_BUDGET,),
    ),
    Part(
        "group_testing",
        "GroupTesting",
        oracles.GroupTesting,
        "The paper's oracle: random tests of many arms, and a decoder that grades the arms.",
        (
            # No default: delta follows from the gap of the problem (Lemma 2), which nobody else
            # knows.
            Parameter("delta", "float", "Quantization level.", REQUIRED, least=0.0),
            Parameter(
                # With decoder="regression" an empty p means that p is learned.
                "p",
                "float",
                "Probability that an arm is in a test; 1/2 if empty.",
                least=0.0,
                most=1.0,
            ),
            Parameter(
                # A number, or the name of a rule: "order" is the rule of Algorithm 2, "lemma" that
                # of Lemma 1.
                "n_tests",
                "int",
                "Tests per round, or the rule that gives them.",
                "order",
                least=1,
                most=100_000,  # a server computes the tests of a round at once
                choices=("order", "lemma"),
            ),
            Parameter(
                # "round" is 1/t² in round t, as in the proof of Theorem 1.
                "failure",
                "float",
                "Failure probability of that rule.",
                1e-4,
                least=0.0,
                most=1.0,
                choices=("round",),
            ),
            Parameter(
                "q",
                "float",
                "Share of tests that are not repeated.",
                1.0,
                least=0.0,
                most=1.0,
                choices=("estimate",),
            ),
            Parameter("quantize", "bool", "Whether scores are quantized.", True),
            Parameter(
                "decoder",
                "choice",
                "How scores become grades.",
                "sum",
                choices=("sum", "centred", "regression"),
            ),
            Parameter(
                "tests", "choice", "Which tests count.", "all", choices=("all", "non_repeated")
            ),
            _BUDGET,
        ),
    ),
    Part(
        "lazy_greedy",
        "LazyGreedy",
        oracles.LazyGreedy,
        "The greedy set, from remembered answers: fewer evaluations.",
        (
            _POINTS,
            # An answer takes 24 bytes per arm at most: 4,096 of them are 96 KB per arm.
            Parameter(
                "n_answers", "int", "Answers remembered per base set.", 64, least=1, most=4096
            ),
            _BATCH,
            _BUDGET,
            _AUDITS,
        ),
    ),
    Part(
        "lazy_singletons",
        "LazySingletons",
        oracles.LazySingletons,
        "The set of Singletons, from remembered answers: a few evaluations per round.",
        (_POINTS, _BATCH, _BUDGET, _AUDITS),
    ),
    Part(
        "local_search",
        "LocalSearch",
        oracles.LocalSearch,
        "Exchanges single arms until no exchange helps. For rewards whose arms interact.",
        (
            Parameter("start", "oracle", "The oracle that picks the first set."),
            _BUDGET,
            Parameter("restarts", "int", "Searches from random sets.", 0, least=0, most=100),
        ),
    ),
    Part(
        "lucb",
        "LUCB",
        oracles.LUCB,
        "The arms at the border of the best k, until these are certified. For sums.",
        (
            _ERROR,
            Parameter("bounds", "choice", "Kind of bounds.", "kl", choices=("kl", "hoeffding")),
        ),
        over_http=False,
    ),
    Part(
        "noisy_greedy",
        "NoisyGreedy",
        oracles.NoisyGreedy,
        "Adds the arm that increases the value most, from noisy answers, certified per step.",
        _NOISY,
    ),
    Part(
        "noisy_local_search",
        "NoisyLocalSearch",
        oracles.NoisyLocalSearch,
        "Exchanges single arms while this surely helps, from noisy answers, certified at the end.",
        (*_NOISY, Parameter("start", "oracle", "The oracle that picks the first set.")),
    ),
    Part(
        "noisy_singletons",
        "NoisySingletons",
        oracles.NoisySingletons,
        "The arms worth most alone from noisy answers, certified with an error probability.",
        _NOISY,
    ),
    Part(
        "random_sets",
        "RandomSets",
        oracles.RandomSets,
        "A random feasible set: the baseline.",
    ),
    Part(
        # `Scheduled` was called Rarely before. Stored bandits have the old name.
        "rarely",
        "Scheduled",
        oracles.Scheduled,
        "Keeps the last set and asks another oracle on a schedule only.",
        (
            _INNER,
            Parameter("when", "int", "Rounds from one decision to the next.", REQUIRED, least=1),
        ),
    ),
    Part(
        "singletons",
        "Singletons",
        oracles.Singletons,
        "Evaluates every arm alone and picks the k best: the paper's Oracle+.",
        (_BUDGET,),
    ),
    Part(
        "successive_accepts",
        "SuccessiveAccepts",
        oracles.SuccessiveAccepts,
        "Decides arm by arm which are the best, in a given number of rounds. For sums.",
        (Parameter("horizon", "int", "Number of rounds.", REQUIRED, least=1),),
        over_http=False,
    ),
    Part(
        "top_k",
        "TopK",
        oracles.TopK,
        "Picks the k largest means, without an evaluation. For additive rewards only.",
    ),
    Part(
        "top_two",
        "TopTwo",
        oracles.TopTwo,
        "The arms that tell the best set of a sample from those of other samples. For sums.",
        (Parameter("n_draws", "int", "Other samples per round.", 4, least=1),),
        over_http=False,
    ),
)
