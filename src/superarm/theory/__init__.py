"""The paper's lemmas and theorem as functions, its quantizer, and definitions by brute force."""

from superarm.theory.bayes_floor import bayes_regret_floor
from superarm.theory.bounds import (
    epsilon_limit,
    estimate_q,
    n_tests,
    n_tests_order,
    non_repeated,
    q_sample_size,
    quantization_level,
    regret_bound,
)
from superarm.theory.brute_force import gap_range, separation
from superarm.theory.decoding import (
    Decodability,
    decodability,
    log10_q_limit,
    n_tests_repaired,
    signal_to_noise,
)
from superarm.theory.evidence import best_k
from superarm.theory.identification import identification_floor, optimal_shares
from superarm.theory.lower_bounds import first_failure_regret, regret_constant
from superarm.theory.quantizer import Quantizer
from superarm.theory.sharing import optimistic_probability

__all__ = [
    "Decodability",
    "Quantizer",
    "bayes_regret_floor",
    "best_k",
    "decodability",
    "epsilon_limit",
    "estimate_q",
    "first_failure_regret",
    "gap_range",
    "identification_floor",
    "log10_q_limit",
    "n_tests",
    "n_tests_order",
    "n_tests_repaired",
    "non_repeated",
    "optimal_shares",
    "optimistic_probability",
    "q_sample_size",
    "quantization_level",
    "regret_bound",
    "regret_constant",
    "separation",
    "signal_to_noise",
]
