"""The encoder: its numbers agree with slow twins, and any table gives the same features."""

import json
import math
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.features import Encoder

ROWS = [
    {"price": 2.5, "kind": "tea", "since": date(2024, 1, 1)},
    {"price": None, "kind": "tea", "since": date(2024, 7, 2)},
    {"price": 4.0, "kind": "cake", "since": date(2024, 7, 3)},
    {"price": 1.0, "kind": "cake", "since": None},
    {"price": 9.0, "kind": "soup", "since": date(2023, 12, 31)},
]


class ArrowTable:
    """As much of an Arrow table as the encoder looks at."""

    def __init__(self, columns):
        self.columns_by_name = columns
        self.column_names = list(columns)

    def column(self, name):
        return ArrowColumn(self.columns_by_name[name])


class ArrowColumn(list):
    def to_pylist(self):
        return list(self)


def by_column(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def naive_features(fit_rows, row, *, least_rows=2):
    """The features of a row by name, written down from the documentation."""
    features = {}
    for name in fit_rows[0]:
        values = [r[name] for r in fit_rows if r[name] is not None]
        value = row[name]
        if isinstance(values[0], str):
            common = {v for v in values if values.count(v) >= least_rows}
            for one in common:
                features[f"{name} = {one}"] = float(value == one)
            if common != set(values):
                is_other = value is not None and value not in common
                features[f"{name} is other"] = float(is_other)
        else:
            mean = sum(values) / len(values)
            std = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
            score = 0.0 if value is None else (value - mean) / std
            features[name] = max(-5.0, min(5.0, score))
        if len(values) < len(fit_rows):
            features[f"{name} is missing"] = float(value is None)
    return features


CELLS = st.fixed_dictionaries(
    {
        "x": st.none() | st.floats(-1e3, 1e3).map(lambda v: round(v, 3)),
        "kind": st.none() | st.sampled_from("abcd"),
    }
)


@given(st.lists(CELLS, min_size=1, max_size=12), st.lists(CELLS, min_size=1, max_size=4))
def test_features_are_those_of_the_documentation(rows, new):
    # Two numbers and two categories of two rows each, so that every column varies.
    rows = [{"x": 1.0, "kind": "a"}, {"x": 2.0, "kind": "b"}] * 2 + rows
    encoder = Encoder.fit(rows)
    encoded = encoder.transform(new)
    for row, features in zip(new, encoded, strict=True):
        expected = naive_features(rows, row)
        assert set(encoder.names) == set(expected)
        found = dict(zip(encoder.names, features, strict=True))
        assert found == pytest.approx(expected, abs=1e-9)


def test_agrees_with_scikit_learn():
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    numbers, kinds = rng.normal(3, 2, 200), rng.choice(list("pqrs"), 200)
    rows = [{"n": n, "k": str(k)} for n, k in zip(numbers, kinds, strict=True)]
    encoder = Encoder.fit(rows)
    scaled = StandardScaler().fit_transform(numbers[:, None])
    hot = OneHotEncoder(sparse_output=False).fit(kinds[:, None])
    ours, features = encoder.transform(rows), hot.transform(kinds[:, None])
    np.testing.assert_allclose(ours[:, :1], scaled, atol=1e-12)
    for place, kind in enumerate(hot.categories_[0]):
        column = encoder.names.index(f"k = {kind}")
        np.testing.assert_array_equal(ours[:, column], features[:, place])


def test_every_kind_of_table_gives_the_same_features():
    pandas = pytest.importorskip("pandas")
    columns = by_column(ROWS)
    tables = [ROWS, columns, ArrowTable(columns), pandas.DataFrame(ROWS)]
    # pandas' own missing values: NaN, NaT and NA.
    own = pandas.DataFrame(ROWS).convert_dtypes()
    own["since"] = pandas.to_datetime(own["since"])
    encoders = [Encoder.fit(table) for table in (*tables, own)]
    assert len({encoder.names for encoder in encoders}) == 1
    for encoder, table in zip(encoders, (*tables, own), strict=True):
        np.testing.assert_allclose(encoder.transform(table), encoders[0].transform(ROWS))


def test_a_polars_frame_is_a_table_too():
    class Series(list):
        def to_list(self):
            return list(self)

    class Frame(dict):
        columns, dtypes = ["price"], []

        def __getitem__(self, name):
            return Series([1.0, 2.0])

    assert Encoder.fit(Frame()).transform(Frame()).tolist() == [[-1.0], [1.0]]


def test_dates_become_the_parts_that_differ():
    hours = [{"at": datetime(2024, 5, 6) + timedelta(hours=h)} for h in range(0, 24, 6)]
    encoder = Encoder.fit(hours)
    assert [n for n in encoder.names if "day" in n and "on" not in n] == [
        "at time of day (sin)",
        "at time of day (cos)",
    ]
    assert not [n for n in encoder.names if "on " in n]  # one day only
    of_day = encoder.transform(hours)[:, -2:]
    np.testing.assert_allclose(of_day, [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12)
    days = [{"at": date(2024, 1, 1) + timedelta(days=n)} for n in range(14)]
    weekdays = Encoder.fit(days)
    first, last = weekdays.names.index("at on Mon"), weekdays.names.index("at on Sun")
    np.testing.assert_array_equal(
        weekdays.transform(days)[:, first : last + 1], np.vstack([np.eye(7)] * 2)
    )
    # The end of a year is close to the beginning of the next.
    year = Encoder.fit([{"at": date(2023, 1, 1) + timedelta(days=n)} for n in range(365)])
    place = [year.names.index(f"at time of year ({f})") for f in ("sin", "cos")]
    ends = year.transform([{"at": date(2023, 12, 31)}, {"at": date(2023, 1, 1)}])[:, place]
    assert np.linalg.norm(ends[0] - ends[1]) < 0.05


def test_dates_of_numpy_text_and_time_zones():
    when = datetime(2024, 5, 6, 12, 30)
    other = datetime(2022, 1, 2, 3, 4)
    encoder = Encoder.fit([{"at": when}, {"at": other}])
    expected = encoder.transform([{"at": when}])
    for same in (np.datetime64(when, "ns"), when.isoformat(), when.replace(tzinfo=UTC)):
        np.testing.assert_allclose(encoder.transform([{"at": same}]), expected)
    text = Encoder.fit([{"at": str(when)}, {"at": str(other)}], kinds={"at": "date"})
    assert text == encoder


def test_rare_and_unknown_categories_are_pooled():
    rows = [{"kind": kind} for kind in "aaabbbcd"]
    pooled = Encoder.fit(rows)
    assert pooled.names == ("kind = a", "kind = b", "kind is other")
    new = [{"kind": kind} for kind in ("a", "c", "new", None)]
    assert pooled.transform(new).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    all_of_them = Encoder.fit(rows, least_rows=1)
    assert all_of_them.transform([{"kind": "new"}]).tolist() == [[0, 0, 0, 0]]
    assert Encoder.fit(rows, most_categories=1).names == ("kind = a", "kind is other")


def test_features_without_variation_are_left_out():
    rows = [{"x": 0.1, "kind": "a", "at": date(2024, 1, 1), "y": n} for n in range(3)]
    assert Encoder.fit(rows).names == ("y",)
    assert Encoder.fit([rows[0]]).transform(rows).shape == (3, 0)


def test_numbers_of_all_types_and_flags():
    rows = [{"x": v} for v in (1, 2.0, Decimal(3), np.float32(4), np.int64(5), True)]
    assert Encoder.fit(rows).columns[0].kind == "number"
    text = [{"x": str(float(row["x"]))} for row in rows]
    assert Encoder.fit(text).columns[0].kind == "category"
    read = Encoder.fit(text, kinds={"x": "number"})
    np.testing.assert_allclose(read.transform(text), Encoder.fit(rows).transform(rows))
    flags = [{"x": True}, {"x": np.bool_(False)}]
    assert Encoder.fit(flags).transform(flags).tolist() == [[1.0], [-1.0]]


def test_the_intercept_comes_first():
    encoder = Encoder.fit(ROWS, intercept=True, kinds={"since": "ignore"})
    assert encoder.names[:2] == ("intercept", "price")
    assert (encoder.transform(ROWS)[:, 0] == 1).all()


def test_saved_and_loaded_bit_for_bit():
    encoder = Encoder.fit(ROWS, intercept=True)
    again = Encoder.load(json.loads(json.dumps(encoder.state())))
    assert again == encoder
    np.testing.assert_array_equal(again.transform(ROWS), encoder.transform(ROWS))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Encoder.fit([]), "at least one row"),
        (lambda: Encoder.fit("a,b"), "list of dicts, got str"),
        (lambda: Encoder.fit([[1, 2]]), "list of dicts, got list"),
        (lambda: Encoder.fit({"x": 3.0}), r"write \[row\] for one row"),
        (lambda: Encoder.fit({"x": [1], "y": [1, 2]}), "same length"),
        (lambda: Encoder.fit(ROWS, kinds={"colour": "category"}), "got 'colour'"),
        (lambda: Encoder.fit(ROWS, kinds={"kind": "text"}), "got 'text'"),
        (lambda: Encoder.fit(ROWS, kinds={"kind": "number"}), "'kind' must have a number, got 'te"),
        (lambda: Encoder.fit(ROWS, kinds={"kind": "date"}), "a date such as"),
        (lambda: Encoder.fit([{"x": math.inf}]), "finite number, got inf in row 0"),
        (lambda: Encoder.fit(ROWS, least_rows=0), "least_rows must be at least 1"),
        (lambda: Encoder.fit(ROWS).transform([{"price": 1}]), "column 'kind'"),
        (lambda: Encoder.fit(ROWS).transform([{**ROWS[0], "price": "cheap"}]), "got 'cheap'"),
        (lambda: Encoder.load({}), "state must be that of an Encoder"),
        (lambda: Encoder.load({"encoder": 1}), "state must be that of an Encoder"),
        (lambda: Encoder.load({"encoder": 1, "columns": [{}]}), "kind of a column"),
    ],
)
def test_refusals_say_what_was_expected(act, message):
    with pytest.raises((ValueError, TypeError), match=message):
        act()


def test_no_table_library_is_imported():
    code = (
        "import sys; from superarm.features import Encoder; "
        "Encoder.fit([{'x': 1.0}, {'x': 2.0}]).transform([{'x': 3.0}]); "
        "print([n for n in ('pandas', 'pyarrow', 'polars', 'sklearn') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_missing_id_does_not_rename_the_others():
    ids = [1.0, 2.0, None, 1.0, 2.0]  # what a data frame makes of 1, 2 and a missing value
    encoder = Encoder.fit({"shop": ids}, kinds={"shop": "category"})
    assert encoder.names == ("shop = 1", "shop = 2", "shop is missing")
    for one in (1, 1.0, np.float64(1), "1"):
        np.testing.assert_array_equal(encoder.transform([{"shop": one}]), [[1, 0, 0]])


def test_columns_of_the_same_name_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="distinct names"):
        Encoder.fit(pandas.DataFrame([[1, 2], [3, 4]], columns=["price", "price"]))


def test_numbers_in_a_large_unit_keep_their_feature():
    plain = np.random.default_rng(0).normal(size=20)
    tiny = Encoder.fit({"metres": (1e-13 * plain).tolist()})
    assert tiny.names == ("metres",)
    same = Encoder.fit({"metres": plain.tolist()}).transform({"metres": plain.tolist()})
    assert np.allclose(tiny.transform({"metres": (1e-13 * plain).tolist()}), same)


def test_numbers_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="a number up to 1e100, got 1e\\+200 in row 1"):
        Encoder.fit({"price": [1.0, 1e200]})


def test_masked_values_of_a_column_are_missing():
    """Numbers with a masked value were taken for text."""
    encoder = Encoder.fit({"price": np.ma.array([1.0, 2.0, 9.0], mask=[0, 0, 1])})
    assert encoder == Encoder.fit({"price": [1.0, 2.0, None]})
    assert encoder.names == ("price", "price is missing")
