"""What a policy knows about the means of the arms: one algorithm per file."""

from superarm.beliefs.beta import BetaBelief
from superarm.beliefs.cascading import CascadingBelief
from superarm.beliefs.discounted import DiscountedBetaBelief
from superarm.beliefs.exp3 import Exp3Belief
from superarm.beliefs.flat_gaussian import FlatGaussianBelief
from superarm.beliefs.gaussian import GaussianBelief
from superarm.beliefs.kl_ucb import KLUCBBelief
from superarm.beliefs.learned_beta import LearnedBetaBelief
from superarm.beliefs.linear import LinearBelief
from superarm.beliefs.logistic import LogisticBelief
from superarm.beliefs.mean import MeanBelief
from superarm.beliefs.position_biased import PositionBiasedBelief
from superarm.beliefs.shared_seed import SharedSeedBelief
from superarm.beliefs.single_seed import SingleSeedBelief
from superarm.beliefs.sliding import SlidingBetaBelief
from superarm.beliefs.ucb import UCBBelief

__all__ = [
    "BetaBelief",
    "CascadingBelief",
    "DiscountedBetaBelief",
    "Exp3Belief",
    "FlatGaussianBelief",
    "GaussianBelief",
    "KLUCBBelief",
    "LearnedBetaBelief",
    "LinearBelief",
    "LogisticBelief",
    "MeanBelief",
    "PositionBiasedBelief",
    "SharedSeedBelief",
    "SingleSeedBelief",
    "SlidingBetaBelief",
    "UCBBelief",
]
