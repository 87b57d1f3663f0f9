"""The k largest values of groups, the slow way: all bounds are computed, and all in arrays."""

import numpy as np
from scipy.special import ndtri_exp

from superarm.beliefs._scores import largest_score


def draw(top, k, *, rng):
    """What `TopOfGroups.draw` does, with the same draws."""
    common = top.scores.common_std * rng.standard_normal()
    left = top.groups.sizes().astype(int)
    n_drawn, taken = np.zeros_like(left), [set() for _ in left]
    log_u = np.log1p(-rng.random(len(left))) / left

    def scores(of, log_u):
        own = np.where(top.held[of], largest_score(top.groups.n_arms), ndtri_exp(log_u))
        return top.shift[of] + common + top.scores.own_std * own

    def values_of(arms, of, log_u):
        posteriors = top.bounds.of(of) if top.posteriors is None else top.posteriors(arms)
        return posteriors.at(scores(of, log_u))

    bounds = top.bounds.at(scores(np.arange(len(left)), log_u))
    arms, values, level = np.empty(0, np.intp), np.empty(0), -np.inf
    while len(of := np.flatnonzero((bounds > level) | (bounds == level) & (n_drawn < k))):
        if len(of) > k:
            order = np.argsort(-bounds[of])
            if len(np.unique(bounds[of[order[: k + 1]]])) <= k:
                order = np.argpartition(-bounds[of], k)
            of = of[order[:k]]
        steps = np.log1p(-rng.random((len(of), max(1, k // len(of)))))
        groups, places, new = [], [], []
        for row, group in enumerate(of.tolist()):
            for step in steps[row]:
                if left[group] > 0:
                    groups.append(group)
                    places.append(log_u[group])
                    new.append(another(top.groups.arms_of(group), taken[group], rng))
                    n_drawn[group] += 1
                left[group] -= 1
                log_u[group] += step / max(left[group], 1)
            left[group] = max(left[group], 0)
        arms = np.append(arms, np.array(new, np.intp))
        found = values_of(np.array(new, np.intp), np.array(groups, np.intp), np.array(places))
        values = np.append(values, found)
        best = np.lexsort((rng.random(len(values)), -values))[:k]
        arms, values = arms[best], values[best]
        level = values[-1] if len(values) == k else -np.inf
        bounds[of] = np.where(left[of] > 0, top.bounds.of(of).at(scores(of, log_u[of])), -np.inf)
    order = np.argsort(arms)
    return arms[order], values[order]


def another(members, taken, rng):
    """A random arm of a group that was not drawn before."""
    while (place := int(rng.integers(len(members))) if len(members) > 1 else 0) in taken:
        pass
    taken.add(place)
    return members.at(place)
