"""The reward of the example `feature_selection`: cross-validated accuracy of a classifier."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from common import InBatches

N_PIXELS = 64
N_DIGITS = 10


@cache
def shuffled() -> tuple[np.ndarray, np.ndarray]:
    """All images and their digits, shuffled, because they are sorted by writer."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order], labels[order]


@cache
def digits(n_images: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, their digits, and a number in [0, 1) per pixel and image, the same for all sets."""
    images, labels = shuffled()
    return (
        images[:n_images],
        labels[:n_images],
        np.random.default_rng(0).random((n_images, N_PIXELS)),
    )


@dataclass(frozen=True)
class Accuracy:
    """r(S; theta): the accuracy with the pixels of S, if readings of pixel i are missing.

    They are missing with probability 1 - theta_i. Leave-one-out cross-validation of k nearest
    neighbours: each image is predicted from the others. A missing reading is replaced by the mean
    of the pixel. Which readings are missing follows from numbers that are drawn once, so that the
    same set always has the same accuracy.
    """

    n_images: int

    def __call__(self, arms: np.ndarray, means: np.ndarray) -> float:
        images, labels, luck = digits(self.n_images)
        if not len(arms):
            return float(np.bincount(labels).max() / len(labels))
        seen = np.where(luck[:, arms] < means, images[:, arms], images[:, arms].mean(axis=0))
        # The vote of `neighbours`, counted here: scikit-learn takes twice as long for the whole.
        near = NearestNeighbors(algorithm="kd_tree").fit(seen).kneighbors(return_distance=False)
        votes = (labels[near][:, :, np.newaxis] == np.arange(N_DIGITS)).sum(axis=1)
        return float((votes.argmax(axis=1) == labels).mean())


def neighbours() -> KNeighborsClassifier:
    return KNeighborsClassifier(algorithm="kd_tree")


def on_others(n_images: int, arms: np.ndarray) -> float:
    """The accuracy on all images that no search has seen."""
    images, labels = shuffled()
    model = neighbours().fit(images[:n_images, arms], labels[:n_images])
    return float(model.score(images[n_images:, arms], labels[n_images:]))


def accuracy(n_images: int, executor: Executor | None = None) -> InBatches:
    """The accuracy as a reward. B is a guess: accuracy moves in jumps, so no B is true."""
    fn = Accuracy(n_images)
    return InBatches(
        fn, n_arms=N_PIXELS, lipschitz=1.0, upper=1.0, zero_is_absent=False, executor=executor
    )
