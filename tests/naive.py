"""Slow and obvious versions of the clever code: the twins that the tests compare with.

They are written from the definitions, without code of the library.
"""

import functools
import itertools
import math

import numpy as np
from scipy import stats


def dense(sets, n_arms):
    matrix = np.zeros((len(sets), n_arms))
    for j, arms in enumerate(sets):
        for i in arms:
            matrix[j, i] = 1
    return matrix


def top_k(values, k, *, rng, tolerance=0.0):
    order = sorted(range(len(values)), key=lambda i: -values[i])
    last = values[order[k - 1]]
    sure = [i for i in range(len(values)) if values[i] > last + tolerance]
    tied = [i for i in range(len(values)) if abs(values[i] - last) <= tolerance]
    free = k - len(sure)
    if len(tied) > free:
        tied = list(rng.choice(np.array(tied), free, replace=False))
    return np.array(sorted(sure + tied))


@functools.cache
def levels(delta, lipschitz, upper):
    width = delta / (2 * lipschitz)
    found, i = [], 1
    while i * width < upper * (1 - 1e-12):
        found.append(i * width)
        i += 1
    return np.array([*found, upper])


def quantize(value, delta, lipschitz, upper):
    grid = levels(delta, lipschitz, upper)
    return grid[np.argmin(np.abs(value - grid))]


def non_repeated(sets, scores):
    n = len(sets)
    return [
        all(j == i or len(sets[i]) != len(sets[j]) or scores[i] != scores[j] for j in range(n))
        for i in range(n)
    ]


def group_testing(reward, theta, k, sets, *, delta, quantized, decoder, tests, rng):
    """Algorithm 2, line by line, for given tests."""
    A = dense(sets, reward.n_arms)
    rho = np.array([reward(arms, theta[arms]) for arms in sets])
    if quantized:
        lipschitz = max(0.5, float(np.max(reward.lipschitz)))
        rho = np.array([quantize(value, delta, lipschitz, reward.upper) for value in rho])
    use = np.array(non_repeated(sets, rho)) if tests == "non_repeated" else np.ones(len(sets), bool)
    A, rho = A[use], rho[use]
    if decoder == "centred" and len(rho):
        rho = rho - rho.mean()
    tests, scores = A.tolist(), rho.tolist()
    # Lists, because single numbers of an array take long.
    phi = np.array(
        [sum(tests[j][i] * scores[j] for j in range(len(scores))) for i in range(reward.n_arms)],
        float,
    )
    return top_k(phi, k, rng=rng, tolerance=1e-9), phi


def greedy(reward, theta, k, order):
    """Of arms that add the same, the first in ``order``."""
    chosen, place = [], {arm: -number for number, arm in enumerate(order)}
    for _ in range(k):
        rest = [i for i in range(reward.n_arms) if i not in chosen]
        worth = {i: (_worth(reward, theta, [*chosen, i]), place.get(i, -k)) for i in rest}
        chosen.append(max(rest, key=worth.__getitem__))
    return np.array(sorted(chosen))


def best_sets(reward, theta, k):
    worth = {s: _worth(reward, theta, s) for s in itertools.combinations(range(reward.n_arms), k)}
    best = max(worth.values())
    return [s for s, value in worth.items() if value >= best - 1e-12], best


def kl_upper(p, level):
    def kl(q):
        first = p * math.log(p / q) if p > 0 else 0.0
        second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
        return first + second

    low, high = p, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle >= 1 or middle <= low:
            break
        low, high = (middle, high) if middle > 0 and kl(middle) <= level else (low, middle)
    return low


def thompson(mu, k, horizon, rng, world_rng):
    """The ten-line program: Beta draws, the k largest, one coin each, update."""
    a, b = np.ones(len(mu)), np.ones(len(mu))
    rounds = []
    for _ in range(horizon):
        theta = rng.beta(a, b)
        arms = np.sort(np.argsort(theta)[-k:])
        outcomes = (world_rng.random(k) < mu[arms]).astype(float)
        a[arms] += outcomes
        b[arms] += 1 - outcomes
        rounds.append(arms)
    return np.array(rounds), a, b


def _worth(reward, theta, arms):
    arms = np.array(sorted(arms), np.intp)
    return reward(arms, theta[arms])


def philox(key, counter):
    """Philox 4x32-10 (Salmon et al. 2011) with Python's integers: four words per counter."""
    c, k, low = list(counter), [key & 0xFFFFFFFF, key >> 32], 0xFFFFFFFF
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second & low, first >> 32 ^ c[3] ^ k[1], first & low]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    return c


def philox_tests(n_tests, n_arms, p, *, key, clock, run):
    """The tests that the batch kernels make in registers.

    A cell is 1 if its uniform number is below p. The binary digits of the number are 1 minus those
    of Philox, the last digit first. There are 24 digits, or as many as p has.
    """
    number, n_digits = round(p * 2**24), 24
    while number % 2 == 0:
        number, n_digits = number // 2, n_digits - 1
    n_quads = -(-n_arms // 4)
    matrix = np.zeros((n_tests, n_arms), int)
    for quad in range(n_quads):
        for word in range(-(-n_tests // 32)):
            drawn = [
                philox(key, (quad, word * n_digits + digit, clock, run))
                for digit in range(n_digits)
            ]
            for place in range(4):
                arm = quad + place * n_quads
                for j in range(word * 32, min(word * 32 + 32, n_tests)):
                    uniform = sum(
                        (1 - (words[place] >> j % 32 & 1)) << digit
                        for digit, words in enumerate(drawn)
                    )
                    if arm < n_arms:
                        matrix[j, arm] = uniform < number
    return matrix


def feasible_sets(
    n_arms,
    k,
    *,
    at_most=False,
    available=None,
    must=(),
    must_not=(),
    groups=(),
    weights=None,
    budget=0,
):
    """All feasible sets, by checking every set."""

    def fits(arms):
        return (
            (len(arms) <= k if at_most else len(arms) == k)
            and (available is None or all(available[i] for i in arms))
            and set(must) <= arms
            and not set(must_not) & arms
            and all(group.least <= len(set(group.arms) & arms) <= group.most for group in groups)
            and (weights is None or sum(weights[i] for i in arms) <= budget)
        )

    return [arms for arms in subsets(n_arms) if fits(set(arms))]


def subsets(n):
    return [arms for size in range(n + 1) for arms in itertools.combinations(range(n), size)]


def is_matching(pairs, arms):
    return len({pairs[i][0] for i in arms}) == len(arms) == len({pairs[i][1] for i in arms})


def is_tree(edges, n_nodes, arms):
    part = list(range(n_nodes))
    for i in arms:
        one, other = (part[node] for node in edges[i])
        if one == other:
            return False
        part = [one if number == other else number for number in part]
    return len(set(part)) == 1


def is_path(edges, source, target, arms):
    left, node, visited = [edges[i] for i in arms], source, {source}
    while node != target:
        following = [head for tail, head in left if tail == node]
        if len(following) != 1 or following[0] in visited:
            return False
        left.remove((node, following[0]))
        node = following[0]
        visited.add(node)
    return not left


def escb(theta, counts, rounds, k, c=0.0):
    """The largest index of ESCB-2 over all sets of k arms, and the sets that have it.

    Every arm must have outcomes.
    """
    log_t = math.log(rounds + 1)
    level = log_t + c * k * math.log(max(log_t, 1.0))
    index = {
        arms: sum(theta[i] for i in arms) + math.sqrt(level / 2 * sum(1 / counts[i] for i in arms))
        for arms in itertools.combinations(range(len(theta)), k)
    }
    best = max(index.values())
    return best, [arms for arms, value in index.items() if value >= best - 1e-9]


def exp3_probabilities(weights, k, gamma):
    """The probabilities of Exp3.M.

    The weight to which the largest weights are lowered is found by bisection.
    """
    m = len(weights)

    def p(alpha):
        lowered = [min(w, alpha) for w in weights]
        return [k * ((1 - gamma) * w / sum(lowered) + gamma / m) for w in lowered]

    if max(p(math.inf)) <= 1:
        return p(math.inf), [False] * m
    low, high = 0.0, max(weights)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if max(p(middle)) <= 1 else (low, middle)
    return p(low), [w > low * (1 + 1e-9) or abs(w - low) <= 1e-9 * low for w in weights]


def rounding_law(p):
    """The sets that dependent rounding gives, with their probabilities."""
    open_ = [i for i in range(len(p)) if 1e-12 < p[i] < 1 - 1e-12]
    if len(open_) < 2:
        return {tuple(i for i in range(len(p)) if p[i] > 0.5): 1.0}
    half = len(open_) // 2
    law = {}
    for gains in itertools.product([True, False], repeat=half):
        q, chance = list(p), 1.0
        for i, j, wins in zip(open_[:half], open_[half : 2 * half], gains, strict=True):
            gain, loss = min(1 - p[i], p[j]), min(p[i], 1 - p[j])
            chance *= (loss if wins else gain) / (gain + loss)
            q[i] += gain if wins else -loss
            q[j] -= gain if wins else -loss
        for arms, share in rounding_law(q).items():
            law[arms] = law.get(arms, 0.0) + chance * share
    return law


def discounted(rounds, n_arms, discount):
    """Successes and failures of each arm; a round of age t counts discount^t."""
    counts = np.zeros((2, n_arms))
    for age, (arms, coins) in enumerate(reversed(rounds)):
        for arm, coin in zip(arms, coins, strict=True):
            counts[0 if coin else 1, arm] += discount**age
    return counts


def windowed(rounds, n_arms, window):
    """Successes and failures of each arm in the last rounds."""
    counts = np.zeros((2, n_arms))
    for arms, coins in rounds[-window:]:
        for arm, coin in zip(arms, coins, strict=True):
            counts[0 if coin else 1, arm] += 1
    return counts


def position_log_density(x, a, b, successes, failures, weights):
    """The log posterior of one arm's log odds x in the position-based model, up to a constant."""
    theta = 1 / (1 + np.exp(-x))
    value = (a + successes) * np.log(theta) + b * np.log1p(-theta)
    return value + sum(f * np.log1p(-w * theta) for f, w in zip(failures, weights, strict=True))


def position_posterior(a, b, successes, failures, weights, n=40_001):
    """Mean and standard deviation of theta under the exact posterior.

    Both are sums over a fine grid of log odds.
    """
    x = np.linspace(-20, 20, n)
    theta, log = 1 / (1 + np.exp(-x)), position_log_density(x, a, b, successes, failures, weights)
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    mean = mass @ theta
    return mean, math.sqrt(mass @ (theta - mean) ** 2)


def chance_of_the_largest(a, b, n_points=20_001):
    """The probability that each of several independent Beta draws is the largest.

    It is a sum over a fine grid.
    """
    edges = np.linspace(0, 1, n_points)
    middles = (edges[1:] + edges[:-1]) / 2
    below = stats.beta.cdf(middles[:, None], a, b)
    mass = np.diff(stats.beta.cdf(edges[:, None], a, b), axis=0)
    return np.array(
        [(mass[:, i] * np.delete(below, i, axis=1).prod(axis=1)).sum() for i in range(len(a))]
    )


def off_policy(sets, outcomes, propensities, q, means=None):
    """The three estimates by arm, with loops over arms and rounds.

    They are inverse propensities, self-normalised, and doubly robust with the given means.
    """
    ips = normaliser = robust = 0.0
    n = len(sets)
    for arms, told, chances in zip(sets, outcomes, propensities, strict=True):
        for arm, y, p in zip(arms, told, chances, strict=True):
            ips += q[arm] / p * y / n
            normaliser += q[arm] / p / n
            robust += 0 if means is None else q[arm] / p * (y - means[arm]) / n
    if means is not None:
        robust += sum(q[arm] * means[arm] for arm in range(len(q)))
    return ips, ips / normaliser * sum(q), robust


def every_log(chances, mu, n_rounds, learned=None):
    """All logs of binary outcomes: (probability, sets, outcomes, arm and set propensities).

    ``chances`` maps sets to probabilities. ``learned(sets, outcomes)`` gives those of the next
    round, if they change.
    """
    logs = [(1.0, [], [], [], [])]
    for _ in range(n_rounds):
        longer = []
        for chance, sets, told, by_arm, by_set in logs:
            now = chances if learned is None else learned(sets, told)
            for arms, p in now.items():
                margins = [
                    sum(other for found, other in now.items() if arm in found) for arm in arms
                ]
                for outcomes in itertools.product([0.0, 1.0], repeat=len(arms)):
                    luck = math.prod(
                        mu[arm] if y else 1 - mu[arm] for arm, y in zip(arms, outcomes, strict=True)
                    )
                    row = (
                        chance * p * luck,
                        [*sets, arms],
                        [*told, outcomes],
                        [*by_arm, margins],
                        [*by_set, p],
                    )
                    longer.append(row)
        logs = longer
    return logs


def cascade_posterior(prior, lists, continues, n=61):
    """The means and variances of theta under the exact posterior of whole lists.

    The arms are few: sums over a grid of all combinations of their means. A list is a pair of arms
    in the order shown, and 0 or 1 for each.
    """
    n_arms = len(prior)
    nodes, weights = np.polynomial.legendre.leggauss(n)
    grid = np.meshgrid(*[(nodes + 1) / 2] * n_arms, indexing="ij")
    mass = math.prod(np.meshgrid(*[weights] * n_arms, indexing="ij"))
    for theta, (a, b) in zip(grid, prior, strict=True):
        mass = mass * theta ** (a - 1) * (1 - theta) ** (b - 1)
    for arms, clicks in lists:
        last = max((place for place, click in enumerate(clicks) if click), default=len(arms))
        rest = 1.0  # the probability of no click after the last one, if the reader goes on
        for place, (arm, click) in enumerate(zip(arms, clicks, strict=True)):
            if place <= last:
                # The reader went on after each click but the last.
                mass = mass * (grid[arm] if click else 1 - grid[arm])
            else:
                rest = rest * (1 - grid[arm])
        if last < len(arms):
            mass = mass * (1 - continues + continues * rest)
    mass = mass / mass.sum()
    means = [float((mass * theta).sum()) for theta in grid]
    return means, [
        float((mass * theta**2).sum()) - m**2 for theta, m in zip(grid, means, strict=True)
    ]


def bounds_of_arm(theta, b, x, f, *, monotone, concave):
    """Bounds of one arm at theta, given its B and its answers f at the ascending means x."""
    right = sum(mean <= theta for mean in x)
    lower, upper = -math.inf, math.inf
    if right > 0:
        if x[right - 1] == theta:
            return f[right - 1], f[right - 1]
        reach = b * (theta - x[right - 1])
        upper = f[right - 1] + reach
        lower = f[right - 1] if monotone else f[right - 1] - reach
    if right < len(x):
        reach = b * (x[right] - theta)
        lower = max(lower, f[right] - reach)
        upper = min(upper, f[right] if monotone else f[right] + reach)
    # The chord around theta bounds from below, the next ones on both sides from above.
    for first in (right - 1, right - 2, right) if concave else ():
        if 0 <= first < len(x) - 1:
            f1, f2 = f[first], f[first + 1]
            share = (theta - x[first]) / (x[first + 1] - x[first])
            line = f1 + (f2 - f1) * share
            # What rounding may do to a line through two points, also where answers are differences.
            slack = 4e-16 * (abs(f1) + abs(f2) + b) * (1 + abs(share))
            if first == right - 1:
                lower = max(lower, line - slack)
            else:
                upper = min(upper, line + slack)
    return lower, max(lower, upper)
