"""Checks of arguments: every message says what was expected, what came, and how to fix it.

For authors of beliefs, oracles, rewards and environments. Each function returns its argument in the
form that the library works with, or raises ValueError or TypeError before anything has changed.
"""

from __future__ import annotations

import math
from operator import lt
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Up to this many numbers, which a round usually has, a loop is faster than numpy.
_FEW = 16
_BITS_OF_ONE = np.float64(1.0).view(np.uint64)


def as_count(value: Any, name: str, *, least: int = 0) -> int:
    """A whole number of at least ``least``, as an int."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


def as_k(k: Any, n_arms: int) -> int:
    """The size of a set, between 1 and ``n_arms``."""
    if type(k) is int and 1 <= k <= n_arms:  # the usual case
        return k
    if as_count(k, "k", least=-(2**62)) < 1 or k > n_arms:
        raise ValueError(f"k must be between 1 and {n_arms} (n_arms), got {k}")
    return int(k)


def as_flag(value: Any, name: str) -> bool:
    """True or False; nothing else is taken for one of them."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_positive(value: Any, name: str) -> float:
    """A finite number above zero, as a float."""
    number = as_number(value, name)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    return number


def as_fraction(value: Any, name: str, *, low: str = "(", high: str = ")") -> float:
    """A number between 0 and 1; ``low="["`` includes 0 and ``high="]"`` includes 1."""
    number = as_number(value, name)
    above = number >= 0 if low == "[" else number > 0
    below = number <= 1 if high == "]" else number < 1
    if not (above and below):
        raise ValueError(f"{name} must be in {low}0, 1{high}, got {value!r}")
    return number


def as_arms(arms: ArrayLike, n_arms: int) -> IndexArray:
    """Distinct arms between 0 and ``n_arms - 1``, in the order they came."""
    if isinstance(arms, MaskedArray):
        refuse_masked(arms, "arms")
    given = np.asarray(arms)
    if given.ndim != 1:
        raise ValueError(
            f"arms must be one-dimensional, got shape {given.shape}; write [i] for one arm"
        )
    if not given.size:
        return given.astype(np.intp)
    if given.dtype.kind not in "iu":
        raise TypeError(f"arms must be whole numbers, got dtype {given.dtype}")
    if given.size <= _FEW:
        numbers = given.tolist()
        ascending = all(map(lt, numbers, numbers[1:]))
        least, most = (numbers[0], numbers[-1]) if ascending else (min(numbers), max(numbers))
    else:
        ascending = np.count_nonzero(given[1:] > given[:-1]) == given.size - 1
        least, most = (given[0], given[-1]) if ascending else (given.min(), given.max())
    # Compared before the conversion: a uint64 beyond intp would wrap around to a valid arm.
    if not (least >= 0 and most < n_arms):
        raise ValueError(f"arms must be between 0 and {n_arms - 1}, got {least} to {most}")
    distinct = given.astype(np.intp, copy=False)
    if not ascending:
        # Ascending arms are distinct already.
        ordered = np.sort(distinct)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if repeated.size:
            raise ValueError(f"arms must be distinct, got arm {repeated[0]} more than once")
    return distinct


def as_unit(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Floats in [0, 1] of the given shape; NaN and infinities are refused."""
    if isinstance(values, MaskedArray):
        refuse_masked(values, name)
    given = np.asarray(values)
    if given.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {given.shape}")
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {given.dtype}")
    numbers = given.astype(np.float64, copy=False)
    if numbers.size <= _FEW:
        is_inside = not [one for one in numbers.ravel().tolist() if not 0 <= one <= 1]
    else:
        # Read as whole numbers, the bits of the floats from 0 to 1 are at most those of 1, and the
        # bits of all others but -0.0 are above. So one pass is enough if nothing is wrong. A NaN
        # makes min() NaN and the comparison false.
        is_inside = numbers.view(np.uint64).max() <= _BITS_OF_ONE or (
            numbers.min() >= 0 and numbers.max() <= 1
        )
    if not is_inside:
        bad = numbers[~((numbers >= 0) & (numbers <= 1))]
        raise ValueError(f"{name} must be in [0, 1], got {bad.flat[0]}; rescale before you pass it")
    return numbers


def as_place_weights(weights: ArrayLike) -> FloatArray:
    """How often each place is looked at, in (0, 1]; read-only."""
    given = as_finite(weights, "weights", ndim=1)
    shares = as_unit(given, "weights", given.shape)
    # A place of weight 0 would make every outcome there a failure that says nothing about its arm.
    if not shares.min() > 0:
        raise ValueError(
            f"weights must be above 0, got {shares.min()}; leave out places nobody looks at"
        )
    shares.flags.writeable = False
    return shares


def as_theta(theta: ArrayLike, n_arms: int, pools: Any) -> FloatArray:
    """The means of all arms, for a batch of pools over the same arms."""
    if pools.n_arms != n_arms:
        raise ValueError(
            f"pools must be over the reward's {n_arms} arms, got pools over {pools.n_arms}"
        )
    return as_unit(theta, "theta", (n_arms,))


def as_value(value: Any, arms: ArrayLike) -> float:
    """What a reward answered for a set, a finite number."""
    number = as_answer(value)
    if not math.isfinite(number):
        raise ValueError(
            f"a reward must be a finite number, got {number} for the arms {shown_arms(arms)}; "
            "if another call may succeed, set retries= of BlackBox"
        )
    return number


def as_answer(value: Any) -> float:
    """What a reward answered for a set, as a float; booleans are numbers."""
    try:
        return float(value)
    except (TypeError, ValueError):
        # A function without a return statement gives None; a vector of one per arm is no value yet.
        raise TypeError(
            f"a reward must return one number per set, got {value!r:.100}; end the function with "
            f"return float(...)"
        ) from None


def as_values(values: ArrayLike, pools: Any) -> FloatArray:
    """What a reward answered for a batch of pools, one finite number per pool."""
    if isinstance(values, MaskedArray):
        refuse_masked(values, "a reward's batch")
    numbers = np.asarray(values, np.float64)
    if numbers.shape != (len(pools),):
        raise ValueError(
            f"a reward's batch must have shape ({len(pools)},), one value per pool, "
            f"got {numbers.shape}"
        )
    finite = np.isfinite(numbers)
    if not finite.all():
        worst = int(finite.argmin())
        as_value(numbers[worst], pools[worst])  # refuses it
    return numbers


def as_finite(values: ArrayLike, name: str, *, ndim: int, least: float = -math.inf) -> FloatArray:
    """Finite floats of ``ndim`` dimensions, none below ``least``; always a copy."""
    if isinstance(values, MaskedArray):
        refuse_masked(values, name)
    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {given.dtype}")
    numbers = np.array(given, dtype=np.float64)
    if numbers.ndim != ndim or not numbers.size:
        raise ValueError(
            f"{name} must be a non-empty array of {ndim} dimension(s), got shape {numbers.shape}"
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, got {numbers[~np.isfinite(numbers)].flat[0]}")
    if numbers.min() < least:
        raise ValueError(f"{name} must be at least {least:g}, got {numbers.min()}")
    return numbers


def as_context(context: ArrayLike, n_arms: int, name: str = "context") -> FloatArray:
    """What is known of a round: a finite vector, or a matrix with one row per arm."""
    n_dims = np.ndim(context)
    if n_dims not in (1, 2):
        raise ValueError(
            f"{name} must be a vector, or a matrix with one row per arm, got {n_dims} dimensions"
        )
    given = as_finite(context, name, ndim=n_dims)
    if n_dims == 2 and len(given) != n_arms:
        raise ValueError(f"{name} must have one row for each of {n_arms} arms, got {len(given)}")
    return given


def as_feedback(arms: ArrayLike, outcomes: ArrayLike, n_arms: int) -> tuple[IndexArray, FloatArray]:
    """Arms with one outcome each."""
    distinct = as_arms(arms, n_arms)
    return distinct, as_unit(outcomes, "outcomes", distinct.shape)


def as_set(arms: ArrayLike, means: ArrayLike, n_arms: int) -> tuple[IndexArray, FloatArray]:
    """Arms with one mean each."""
    distinct = as_arms(arms, n_arms)
    return distinct, as_unit(means, "means", distinct.shape)


def as_state(
    state: Any, kind: str, n_arms: int, *, arrays: tuple[str, ...], others: tuple[str, ...] = ()
) -> dict[str, FloatArray]:
    """The arrays of a belief's saved state, one number of at least 0 per arm.

    Refuses the state of another belief, of another number of arms, or with a part missing.
    """
    if not isinstance(state, dict) or state.get("belief") != kind:
        came = state.get("belief") if isinstance(state, dict) else type(state).__name__
        raise ValueError(
            f"state must be that of a {kind}, got {came!r}; load it into the belief that wrote it"
        )
    if state.get("n_arms") != n_arms:
        raise ValueError(f"state must be of {n_arms} arms, got one of {state.get('n_arms')}")
    missing = [key for key in (*arrays, *others) if key not in state]
    if missing:
        raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
    loaded = {key: as_finite(state[key], f"state[{key!r}]", ndim=1, least=0.0) for key in arrays}
    for key, values in loaded.items():
        if values.shape != (n_arms,):
            raise ValueError(f"state[{key!r}] must have {n_arms} numbers, got {len(values)}")
    return loaded


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked values: numpy would use the numbers below the mask."""
    if values.mask.any():
        raise ValueError(
            f"{name} must have no masked values, got {np.count_nonzero(values.mask)}; leave these "
            f"out, or use values.filled(...)"
        )


def as_number(value: Any, name: str) -> float:
    """A number, as a float. Texts and booleans are refused."""
    if isinstance(value, bool | str | bytes):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:  # of a whole number beyond the floats: the limits refuse it
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None


def as_generator(rng: Any) -> np.random.Generator:
    """A random generator. A seed is refused: it would draw the same in every round."""
    if not hasattr(rng, "integers"):
        raise TypeError(
            f"rng must be a numpy.random.Generator, got {rng!r}; make one before the first round: "
            f"rng = np.random.default_rng({rng if isinstance(rng, int) else 0})"
        )
    return rng


def shown_arms(arms: ArrayLike) -> str:
    """Some arms as an error message shows them."""
    return np.array2string(np.asarray(arms), threshold=10)
