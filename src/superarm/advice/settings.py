"""The numbers that decide what an inspection says, chosen by ``benchmarks/advice.py``.

They are read when they are used, so that the benchmark can compare others.
"""

# A property holds if at most this share of probes violates it, with confidence 1 - DELTA.
SHARE, DELTA = 0.15, 0.05
# With a budget, separability is probed on this many times k arms.
SMALL_ARMS = 2
# With a budget, probes that run at once, at most. The same with and without an executor, so that
# both give the same results.
BLOCK = 4
# Sub-problems in which the recommended oracle is compared with all sets, at most.
N_CHECKS = 2
# Probes of separability with all arms (100 at most), before it is relied on, if the budget allows.
N_LARGE = 2
# Sets that are built greedily, and improved by swaps, before greedy is relied on.
N_GREEDY = 2
# Searches from random sets that LocalSearch makes more, where arms are worth more together.
RESTARTS = 2
# Of a value: less is not worth another oracle or a warning.
LOSES = 0.02
# An inspection ends after this many failures of one kind, if they are this share of all
# evaluations.
N_FAILURES, FAILING = 10, 0.9
