"""Readings of the algorithm, growth of regret, and the reference curve of figure 1."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import superarm as sa
from superarm import theory
from superarm.studies import Cell, Scale, paper, run_cell
from superarm.studies.cells.play import Make
from superarm.studies.cells.readings import READING
from superarm.studies.paper.experiments import fig1, table1
from superarm.studies.paper.extensions.readings import READINGS
from superarm.studies.paper.policies import growth, value_at

AT = np.array([1, 10, 100, 1000, 10_000])
PROBLEM = {"family": "linear", "n_arms": 40, "k": 2, "gap": 0.2}


def made(**options):
    """The policy of a reading, and its instance."""
    spec = {"name": READING, "delta": 0.2, "n_tests": 12, **options}
    settings = {"problem": PROBLEM, "horizon": 30, "policy": spec}
    return Make(settings)(np.random.default_rng(5))


def pools_of(policy, n_rounds=3):
    """The tests of some rounds, as lists of arms."""
    rng, found = np.random.default_rng(0), []
    for _ in range(n_rounds):
        policy.ask(rng=rng)
        pools = policy.oracle.report.tests
        found.append([pools[j].tolist() for j in range(len(pools))])
    return found


def test_tests_drawn_once_are_the_same_in_every_round():
    first, second, third = pools_of(made(mean_size=4, fixed=True)[0])
    assert first == second == third
    assert len(first) == 12
    other = pools_of(made(mean_size=4)[0])
    assert other[0] != other[1]


def test_every_reading_meets_the_instance_of_the_usual_settings():
    usual = Make({"problem": PROBLEM, "horizon": 30, "policy": {"name": "cts"}})
    _, expected = usual(np.random.default_rng(5))
    for options in READINGS.values():
        _, instance = made(**{**options, "n_tests": options["n_tests"]})
        np.testing.assert_array_equal(instance.mu, expected.mu)


def test_the_expected_size_of_a_test_stands_for_p():
    assert made(mean_size=0.1)[0].oracle.p == pytest.approx(0.1 / 40)
    assert made(p=0.5)[0].oracle.p == 0.5


def test_failure_by_round_asks_for_more_and_more_tests():
    policy, _ = made(p=0.5, n_tests="order", failure="round")
    counts = [len(tests) for tests in pools_of(policy, n_rounds=6)]
    rules = [
        theory.n_tests_order(n_arms=40, k=2, delta=0.2, failure=min(0.5, 1 / t**2))
        for t in range(1, 7)
    ]
    assert counts == rules
    assert counts[0] < counts[-1]


def test_a_reading_with_no_deviation_is_the_usual_setting():
    """The same decisions as the catalog's policy with the same seed."""
    shared = {"problem": PROBLEM, "horizon": 30, "label": "any"}
    usual = {"name": "gt-qts-one-of-m", "delta": 0.2, "n_tests": 12}
    reading = {"name": READING, "delta": 0.2, "n_tests": 12, "mean_size": 1}
    rows = [
        run_cell(Cell("play", {**shared, "policy": spec}, 0, 0)).row for spec in (usual, reading)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("law", "exponent", "tenfold"),
    [
        (lambda t: t, 1.0, 10.0),
        (np.sqrt, 0.5, np.sqrt(10)),
        (lambda t: 1 + np.log(t), np.log10((1 + 4 * np.log(10)) / (1 + 3 * np.log(10))), 1.0),
    ],
)
def test_growth_of_known_curves(law, exponent, tenfold):
    runs = np.array([law(AT), 3 * law(AT)])  # a factor changes no growth
    exponents, tenfolds = growth(runs, AT, 10_000)
    assert exponents == pytest.approx([exponent] * 2)
    assert tenfolds == pytest.approx([tenfold] * 2)


def test_values_between_checkpoints_are_interpolated():
    assert value_at(np.array([[0.0, 9.0]]), np.array([1, 10]), 4.0) == pytest.approx([3.0])


def test_the_reference_of_figure_1_has_no_vertical_line():
    """log(1) = 0 has no place on a logarithmic axis: the curve begins at round 2."""
    cells = fig1.cells(Scale("tiny", runs=2))
    rows = [{"run": c.run, **c.settings, **run_cell(c).row} for c in cells]
    figure = Figure()
    fig1.analyse(rows, []).draw(figure)
    for axis in figure.axes:
        reference = axis.lines[-1]
        t, height = reference.get_data()
        assert t[0] == 2
        assert height.min() > 0
        # No step of the curve is steeper than a hundredth of the axis is wide.
        assert np.diff(np.log(height)).max() < 0.2


def test_table_1_repeats_what_its_claim_is_about():
    """Ten runs with single calls, three with the other ways of calling."""

    def runs(scale, calls):
        return {c.run for c in table1.cells(scale) if c.settings["calls"] == calls}

    assert [len(runs(Scale(), calls)) for calls in table1.CALLS] == [6, 2, 2]
    assert [len(runs(Scale(runs=4), calls)) for calls in table1.CALLS] == [4, 4, 4]


def test_every_experiment_has_as_many_runs_as_a_verdict_needs():
    """At least 20 runs, 10 for figure 2C; timed cells have runs of their own."""
    for name in paper.EXPERIMENTS:
        cells = [c for c in paper.load(name).cells(Scale()) if c.settings.get("purpose") != "time"]
        runs = {cell.run for cell in cells}
        if cells:
            assert len(runs) >= (10 if name == "fig2c" else 20), name


def test_arms_in_no_fixed_test_are_never_preferred():
    """Arms outside all tests have grade 0, and arms in more tests have larger grades."""
    policy, instance = made(mean_size=0.3, fixed=True)
    trace = sa.simulate(policy, instance, horizon=200, rng=np.random.default_rng(1))
    tested = set(policy.oracle.pools.members.tolist())
    assert len(tested) >= instance.k
    assert set(trace.arms.ravel().tolist()) <= tested
