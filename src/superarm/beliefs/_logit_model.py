"""A Gaussian model with common weights and weights of each arm: mixed effects, from sums.

The value of arm i for a row (phi, psi) is eta = phi · w + psi · u_i. The weights w are common to
all arms, and u_i are those of the arm alone. All have independent Gaussian priors of mean 0. An
observation says that eta is N(target, 1 / weight). Given w, the arms are independent, so the u_i
are integrated out arm by arm (Henderson 1975; Harville 1977), and nothing larger than the common
weights is ever factorised.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.states import as_saved_array


class SiteModel:
    """Sums of observations, and the posterior of w and all u_i given these.

    With D common weights and r weights per arm: ``observe`` costs O(arms · (r^3 + r D^2)), the
    first look after it O(D^3), and ``predict`` O(arms · (r D + D^2)). Takes 8 (2 r + D) r bytes per
    arm.

    Attributes
    ----------
    precision, cross, shift
        Shapes (n_arms, r, r), (n_arms, r, D) and (n_arms, r): the sums of weight · psi psi', of
        weight · psi phi' and of weight · target · psi over the observations of each arm.
    fixed_var, own_var
        Shapes (D,) and (r,): the prior variances of w and of each u_i.
    """

    def __init__(self, n_arms: int, fixed_var: FloatArray, own_var: FloatArray) -> None:
        n_fixed, n_own = len(fixed_var), len(own_var)
        self.fixed_var, self.own_var = fixed_var, own_var
        self.precision = np.zeros((n_arms, n_own, n_own))
        self.cross = np.zeros((n_arms, n_own, n_fixed))
        self.shift = np.zeros((n_arms, n_own))
        # Sums over all arms of weight · phi phi' and weight · target · phi, and the same after
        # the u_i are integrated out.
        self.totals = np.zeros((n_fixed, n_fixed)), np.zeros(n_fixed)
        self.marginal = np.zeros((n_fixed, n_fixed)), np.zeros(n_fixed)
        self._own_cov = np.empty((0, n_own, n_own))
        self._common: tuple[FloatArray, FloatArray] | None = None
        self.refresh()

    def observe(
        self,
        arms: IndexArray,
        phi: FloatArray,
        psi: FloatArray,
        weight: FloatArray,
        pull: FloatArray,
        *,
        same_rows: bool = False,
    ) -> None:
        """One more observation for each of some distinct arms; ``pull`` is weight · target.

        With ``same_rows``, the row of an arm is the same in all observations, and r is 1.
        """
        self._change(arms, -1.0)
        self.precision[arms] += weight[:, None, None] * psi[:, :, None] * psi[:, None, :]
        if same_rows:
            # No sum over observations, so that it can be computed again to the last bit.
            self.cross[arms] = self.precision[arms] * phi[:, None, :]
        else:
            self.cross[arms] += weight[:, None, None] * psi[:, :, None] * phi[:, None, :]
        self.shift[arms] += pull[:, None] * psi
        for sums in (self.totals, self.marginal):
            sums[0][...] += (weight[:, None] * phi).T @ phi
            sums[1][...] += pull @ phi
        self._own_cov[arms] = self._cov_of(self.precision[arms])
        self._change(arms, 1.0)
        self._common = None

    def common(self) -> tuple[FloatArray, FloatArray]:
        """The posterior mean of w, shape (D,), and its covariance, shape (D, D)."""
        if self._common is None:
            self._common = _solve(*self.marginal, self.fixed_var)
        return self._common

    def own(self, arms: IndexArray) -> tuple[FloatArray, FloatArray]:
        """The means of u_i, shape (n, r), and their covariances given w, shape (n, r, r)."""
        mean = self.common()[0]
        left = self.shift[arms] - self.cross[arms] @ mean
        return (self._own_cov[arms] @ left[:, :, None])[:, :, 0], self._own_cov[arms]

    def predict(
        self, arms: IndexArray, phi: FloatArray, psi: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The means of eta for some arms, and its variance by w and by the u_i given w."""
        mean, cov = self.common()
        gain = (psi[:, None, :] @ self._own_cov[arms])[:, 0, :]
        # eta = (phi - gain · cross) w + gain · shift + noise of variance gain · psi.
        rows = phi - (gain[:, None, :] @ self.cross[arms])[:, 0, :]
        location = rows @ mean + (gain * self.shift[arms]).sum(1)
        common = ((rows @ cov) * rows).sum(1)
        return location, np.maximum(common, 0.0), (gain * psi).sum(1)

    def refresh(self) -> None:
        """Compute everything again from the sums, as after a change of the prior variances."""
        self._own_cov = self._cov_of(self.precision)
        self.marginal = self.totals[0].copy(), self.totals[1].copy()
        self._change(np.flatnonzero(self.precision[:, 0, 0]), 1.0)
        self._common = None

    def evidence(self, fixed_var: FloatArray, own_var: FloatArray) -> float:
        """The log of the marginal likelihood for other prior variances, up to a constant."""
        seen = np.flatnonzero(self.precision[:, 0, 0])
        cov = _inverse(self.precision[seen] + np.diag(1 / own_var))
        reduced = _reduced(self.cross[seen], self.shift[seen], cov)
        total, pull = self.totals[0] - reduced[0], self.totals[1] - reduced[1]
        mean, common = _solve(total, pull, fixed_var)
        fits = pull @ mean + np.einsum("ij,ijk,ik->", self.shift[seen], cov, self.shift[seen])
        sizes = _log_det(common) - np.log(fixed_var).sum()
        sizes += _log_det(cov).sum() - len(seen) * np.log(own_var).sum()
        return float(fits + sizes) / 2

    def recode(self, phi: FloatArray, psi: FloatArray) -> None:
        """Go on with other rows: with ``phi`` times the old phi, and ``psi`` times the old psi."""
        self.precision = psi @ self.precision @ psi.T
        self.cross = psi @ self.cross @ phi.T
        self.shift = self.shift @ psi.T
        self.totals = phi @ self.totals[0] @ phi.T, phi @ self.totals[1]
        self.refresh()

    def fade(self, share: float, rows: FloatArray | None = None) -> None:
        """Multiply the weight of all observations by ``share``; O(n_arms · r D^2).

        ``rows`` are those of all arms, if they are the same in all observations.
        """
        for sums in (self.precision, self.cross, self.shift, *self.totals):
            sums *= share
        if rows is not None:
            self.cross = self.precision * rows[:, None, :]
        self.refresh()

    def add_arms(self, n: int) -> None:
        """Append n arms without observations."""
        n_own, n_fixed = self.cross.shape[1:]
        self.precision = np.concatenate([self.precision, np.zeros((n, n_own, n_own))])
        self.cross = np.concatenate([self.cross, np.zeros((n, n_own, n_fixed))])
        self.shift = np.concatenate([self.shift, np.zeros((n, n_own))])
        prior = np.broadcast_to(np.diag(self.own_var), (n, n_own, n_own))
        self._own_cov = np.concatenate([self._own_cov, prior])

    def state(self) -> dict[str, Any]:
        """The sums as plain JSON; the prior variances are not among them."""
        sums = {name: getattr(self, name).ravel().tolist() for name in _PER_ARM}
        for name in _OVER_ARMS:
            sums[name] = np.concatenate([part.ravel() for part in getattr(self, name)]).tolist()
        return sums

    def load(self, state: dict[str, Any]) -> None:
        """Take over the sums of ``state()``, which must be of the same size."""
        for name in _PER_ARM:
            setattr(self, name, as_saved_array(state[name], name, getattr(self, name).shape))
        n_fixed = len(self.fixed_var)
        for name in _OVER_ARMS:
            flat = as_saved_array(state[name], name, (n_fixed * (n_fixed + 1),))
            setattr(self, name, (flat[:-n_fixed].reshape(n_fixed, n_fixed), flat[-n_fixed:]))
        self._own_cov, self._common = self._cov_of(self.precision), None
        if not (np.diagonal(self._own_cov, axis1=1, axis2=2) > 0).all():
            raise ValueError("state['precision'] must be that of Gaussians")

    def _change(self, arms: IndexArray, sign: float) -> None:
        """Integrate out the weights of some arms (1), or undo it (-1)."""
        reduced = _reduced(self.cross[arms], self.shift[arms], self._own_cov[arms])
        self.marginal[0][...] -= sign * reduced[0]
        self.marginal[1][...] -= sign * reduced[1]

    def _cov_of(self, precision: FloatArray) -> FloatArray:
        return _inverse(precision + np.diag(1 / self.own_var))


_PER_ARM = ("precision", "cross", "shift")
_OVER_ARMS = ("totals", "marginal")


def _reduced(
    cross: FloatArray, shift: FloatArray, cov: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What integrating out the weights of these arms takes from the sums over arms."""
    n_fixed = cross.shape[2]
    gains = (cov @ cross).reshape(-1, n_fixed)
    return gains.T @ cross.reshape(-1, n_fixed), shift.ravel() @ gains


def _solve(total: FloatArray, pull: FloatArray, var: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance for the prior N(0, var), scaled so that variances near 0 are fine."""
    std = np.sqrt(var)
    scaled = np.eye(len(var)) + std[:, None] * total * std
    cov = std[:, None] * np.linalg.inv((scaled + scaled.T) / 2) * std
    return cov @ pull, cov


def _inverse(matrices: FloatArray) -> FloatArray:
    # One number per arm is the usual case, and LAPACK would take a microsecond for each.
    if matrices.shape[-1] == 1:
        return 1 / matrices
    return np.asarray(np.linalg.inv(matrices), np.float64)


def _log_det(matrices: FloatArray) -> Any:
    if matrices.shape[-1] == 1:
        return np.log(matrices[..., 0, 0])
    return np.linalg.slogdet(matrices)[1]
