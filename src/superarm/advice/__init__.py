"""Advice on a reward: what it is like, which oracle suits it, and what each oracle would cost."""

from superarm.advice.auto_policy import auto
from superarm.advice.group_results import ArmGroup, GroupSearch
from superarm.advice.inspection import inspect, n_evaluations
from superarm.advice.planning import Plan, PlanRow, plan
from superarm.advice.progress import Progress
from superarm.advice.recommendation import Recommendation
from superarm.advice.results import Inspection, Property, Witness
from superarm.advice.sub_results import SubProblems

__all__ = [
    "ArmGroup",
    "GroupSearch",
    "Inspection",
    "Plan",
    "PlanRow",
    "Progress",
    "Property",
    "Recommendation",
    "SubProblems",
    "Witness",
    "auto",
    "inspect",
    "n_evaluations",
    "plan",
]
