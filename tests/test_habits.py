"""What people expect of objects: one-line reprs, notebooks, frames, pickles, clear errors."""

import pickle
import sys
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

import parts
import superarm as sa
from superarm.client import Client
from superarm.core import notebook
from superarm.features import Encoder

RNG = np.random.default_rng
NAMES = ["ant", "<b>bee</b>", "cat", "dog"]


@pytest.fixture(scope="module")
def session():
    made = sa.Session(sa.cts(sa.LinearReward(4), 2, oracle=sa.Singletons()), NAMES, seed=1)
    for t in range(5):
        decision = made.ask(propensities=10)
        made.tell(decision, {arm: float((t + len(arm)) % 2) for arm in decision.arms})
    made.tell(made.ask(), {})
    return made


@pytest.fixture(scope="module")
def compared():
    def draw(rng):
        return sa.linear_instance(10, 2, 0.2, rng=rng)

    policies = {"Thompson": sa.thompson, "<i>": sa.random_sets}
    return sa.compare(policies, draw, n_runs=3, horizon=60, seed=1)


def objects():
    for name, make in parts.BELIEFS.items():
        yield f"belief {name}", lambda make=make: make(4)
    for name, (make, _) in parts.ORACLES.items():
        yield f"oracle {name}", make
    for name, make in (*parts.ENVIRONMENTS.items(), *parts.FEASIBLE_SETS.items()):
        yield name, make
    yield "policy", lambda: sa.thompson(sa.LinearReward(4), 2)
    yield "black box", lambda: sa.BlackBox(max, n_arms=3, lipschitz=1.0, upper=1.0)
    yield "group", lambda: sa.Group(range(100), most=2)
    yield "quantizer", lambda: sa.Quantizer(0.1, 1.0, 2.0)
    yield "encoder", lambda: Encoder.fit({f"column {i}": [1.0, 2.0] for i in range(30)})
    yield "sample", lambda: sa.thompson(sa.LinearReward(4), 2).decide(rng=RNG(0))[1]
    yield "client", lambda: Client("http://127.0.0.1:8321", key="secret")
    yield "pools", lambda: sa.Pools.singletons(range(4), 4)


@pytest.mark.parametrize(("name", "make"), list(objects()), ids=[name for name, _ in objects()])
def test_every_object_prints_what_it_is_in_a_line(name, make):
    made = make()
    text = repr(made)
    assert text.startswith(type(made).__name__)
    assert "\n" not in text
    assert " at 0x" not in text
    assert len(text) <= 200
    assert "secret" not in text


def test_what_is_not_a_default_is_shown():
    assert repr(sa.GaussianBelief(4, noise_var=1.0)) == "GaussianBelief(n_arms=4, noise_var=1.0)"
    assert repr(sa.cts(sa.LinearReward(4), 2)) == (
        "Policy(BetaBelief(n_arms=4), Singletons(), LinearReward(n_arms=4), k=2)"
    )


def shown(session, compared):
    decision = session.open[0]
    plan = sa.plan(n_arms=6, k=2, cost_s=0.1, horizon=20, oracles=["Singletons", "TopK"])
    return [
        session,
        decision,
        session.explain(decision),
        session.policy,
        compared,
        compared.traces["Thompson"][0],
        sa.inspect(sa.LinearReward(6), k=2, probes=20),
        plan,
        sa.offpolicy.Estimate(0.5, 0.1, 0.3, 0.7, 0.95, 100, 20.0, 0.5, 0.3),
    ]


def test_notebooks_show_tables_and_pictures(session, compared):
    """Names are escaped, and colours are those of the page or of middle lightness."""
    for one in shown(session, compared):
        html = one._repr_html_()
        assert "<table" in html or "<svg" in html
        assert "<b>" not in html
        assert "<i>" not in html
        assert "background:#" not in html
        assert "\n" not in repr(one)
        assert len(repr(one)) < 200


def test_a_curve_has_few_points():
    assert notebook.curve(np.arange(10_000), title="x").count(",") <= 161
    assert "<svg" in notebook.curve([], title="none")


def test_frames(session, compared):
    arms = session.to_pandas()
    assert list(arms) == ["arm", "retired", "mean", "low", "high"]
    np.testing.assert_allclose(arms["mean"], session.policy.belief.mean())
    rows = session.to_pandas("decisions")
    first = session.decisions[0]
    mine = rows[rows["decision"] == first.id]
    assert mine["arm"].tolist() == list(first.arms)
    assert mine["place"].tolist() == [0, 1]
    assert dict(zip(mine["arm"], mine["outcome"], strict=True)) == session.outcomes(first)
    assert mine["propensity"].tolist() == list(first.propensities)
    log = sa.offpolicy.Log.from_session(session).to_pandas()
    assert log["arm"].tolist() == rows["arm"].tolist()[: len(log)]
    assert list(log) == ["round", "place", "arm", "outcome", "propensity", "set_propensity"]
    trace = compared.traces["Thompson"][0]
    frame = trace.to_pandas()
    assert len(frame) == 60 * 2
    assert frame["arm"].tolist() == trace.arms.ravel().tolist()
    assert compared.to_pandas().groupby("policy")["regret"].mean()["Thompson"] == pytest.approx(
        compared.final()["Thompson"].mean()
    )
    with pytest.raises(ValueError, match='what must be "arms" or "decisions"'):
        session.to_pandas("outcomes")


def test_arrow_tables_are_those_of_pandas(session, compared):
    """The same columns, rows and cells; contexts are lists, and what is not known is null."""
    pyarrow = pytest.importorskip("pyarrow")
    trace = compared.traces["Thompson"][0]
    log = sa.offpolicy.Log.from_session(session)
    for one, frame in (
        (session.to_arrow(), session.to_pandas()),
        (session.to_arrow("decisions"), session.to_pandas("decisions")),
        (trace.to_arrow(), trace.to_pandas()),
        (log.to_arrow(), log.to_pandas()),
    ):
        assert one.column_names == list(frame)
        assert one.num_rows == len(frame)
        for name in frame:
            found = one.column(name).to_pylist()
            assert found == [None if pd.isna(cell) else cell for cell in frame[name]]
    model = sa.LinearBelief(np.eye(3), context=2)
    shop = sa.Session(sa.Policy(model, sa.TopK(), sa.LinearReward(3), 2), seed=0)
    shop.ask(context=[1.0, 2.0])
    table = shop.to_arrow("decisions")
    assert table.schema.field("context").type == pyarrow.list_(pyarrow.float64())
    assert table.column("context").to_pylist() == [[1.0, 2.0]] * 2
    assert table.column("outcome").null_count == 2


@pytest.mark.parametrize(
    ("package", "method"),
    [("pandas", "to_pandas"), ("pyarrow", "to_arrow"), ("matplotlib.figure", "figure")],
)
def test_a_missing_package_is_named(session, compared, monkeypatch, package, method):
    monkeypatch.setitem(sys.modules, package, None)
    found, name = [session, compared, session.explain(session.open[0])], package.split(".")[0]
    for one in [each for each in found if hasattr(each, method)]:
        with pytest.raises(ModuleNotFoundError, match=f"{method} needs {name}, .*pip install"):
            getattr(one, method)()


def test_a_comparison_is_paired(compared):
    """The same instances, and the table has the differences to the first policy."""
    first, other = (compared.traces[name] for name in compared.traces)
    assert [one.best_value for one in first] == [one.best_value for one in other]
    final = compared.final()
    name, *_, difference, _, _ = compared.table()[1]
    assert name == "<i>"
    assert float(difference) == pytest.approx((final["<i>"] - final["Thompson"]).mean(), rel=1e-3)
    assert "Thompson" in str(compared)
    assert len(compared.figure().axes[0].lines) == 2
    with pytest.raises(ValueError, match="at least one policy"):
        sa.compare({}, None)


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"policies": {0.1: sa.cts}}, TypeError, "a name of a policy must be a string, got 0.1"),
        ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0"),
        # Policies with seeds of their own would not meet the same instances.
        ({"seed": None}, TypeError, "seed must be a whole number, got None"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
    ],
)
def test_a_comparison_that_could_not_be_shown_is_refused(given, error, why):
    with pytest.raises(error, match=why):
        sa.compare(**{"policies": {"CTS": sa.cts}, **given}, draw=lambda rng: pytest.fail("played"))


def test_every_policy_of_a_comparison_is_told_apart_in_its_picture(compared):
    trace = next(iter(compared.traces.values()))
    # A name that looks like a formula, one that matplotlib would hide, more than there are colours.
    names = ["from $5_$ on", "_mine", *(f"policy {number}" for number in range(8))]
    figure = type(compared)(dict.fromkeys(names, trace)).figure()
    figure.savefig(BytesIO(), format="svg")  # an invalid formula would be refused here
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == names
    looks = {(line.get_color(), line.get_linestyle()) for line in axis.lines}
    assert len(looks) == len(names)


def test_tell_takes_a_series(session):
    other = session.fork("series")
    decision = other.ask()
    told = other.tell(decision, pd.Series([1.0, 0.0], index=list(decision.arms)))
    assert told == decision.arms
    with pytest.raises(TypeError, match="must be a mapping from arms to outcomes"):
        other.tell(other.ask(), [1.0, 0.0])


def test_sessions_are_pickled_and_go_on(session):
    one, other = session.fork("one"), None
    one.ask()
    other = pickle.loads(pickle.dumps(one))
    for _ in range(3):
        assert one.ask().values == other.ask().values
    assert repr(other) == repr(one)
    assert other.explain(other.decisions[-1]).reasons
