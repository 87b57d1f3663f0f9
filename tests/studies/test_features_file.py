"""Features of the arms of one's own table: the file is read, and its policy learns from it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from superarm.cli import app
from superarm.studies.own_table import TableError
from superarm.studies.own_table.features_file import read_features

TEXT = """arm,kind,price,since
pie,sweet,2.5,2024-01-02
egg,salty,,2024-03-02
tea,sweet,1.5,2023-01-02
jam,salty,3.5,
other,rare,9,2020-01-01
"""


def test_columns_are_numbers_dates_and_categories(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text(TEXT.replace(",", ";"))
    features, doubts = read_features(path, ["egg", "pie", "jam", "tea"])
    # Two kinds, price and its absence, and the rest from the date.
    np.testing.assert_array_equal(features[:, :2], [[1, 0], [0, 1], [1, 0], [0, 1]])
    price = (np.array([2.5, 3.5, 1.5]) - 2.5) / np.std([2.5, 3.5, 1.5])
    np.testing.assert_allclose(features[:, 2], [0, *price])
    np.testing.assert_array_equal(features[:, 3], [1, 0, 0, 0])
    assert features.shape[1] > 5
    assert doubts == []


def test_columns_that_are_hardly_meant_as_they_are_read_are_named(tmp_path):
    """One cell made a price a category whose values are all different, so that it said little."""
    path = tmp_path / "arms.csv"
    path.write_text(TEXT.replace("1.5", "cheap").replace("2024-03-02", "spring") + "end,sour,1,\n")
    _, doubts = read_features(path, ["pie", "egg", "tea", "jam", "end"])
    assert doubts == [
        "price is read as categories, because 'cheap' is no number; leave a cell empty if it is "
        "not known.",
        "since is read as categories, because 'spring' is no date; leave a cell empty if it is "
        "not known.",
    ]
    path.write_text("arm,name,kind,shop\npie,p,a,x\negg,e,a,x\ntea,t,b,x\njam,j,b,x\n")
    _, doubts = read_features(path, ["pie", "egg", "tea", "jam"])
    said = "is not used: it has one value, or one for each row."
    assert doubts == [f"name {said}", f"shop {said}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,kind\npie,sweet\n", "none for 'egg'"),
        ("arm,kind\npie,sweet\negg,sweet\n", "features that differ"),
        ("arm\npie\negg\n", "different names of columns"),
        ("arm,kind,kind\npie,a,b\n", "different names of columns"),
        ("arm,kind\npie,sweet\npie,salty\n", "line 3: expected 2 cells and an arm that no line"),
        ("arm,price\npie,1\negg,inf\n", "arms.csv: column 'price' must have a finite number"),
        ("arm,price\npie,1\negg,1e200\n", "arms.csv: column 'price' must have a number up to"),
        ("arm,kind\npie\n", "line 2: expected 2 cells"),
        ("", "different names of columns"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    path = tmp_path / "arms.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        read_features(path, ["pie", "egg"])


@pytest.mark.usefixtures("pictures_unwritten")
@pytest.mark.parametrize("is_measured", [False, True])
def test_the_policy_with_features_is_played(tmp_path, is_measured):
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], 30)
    means = np.where(kinds == 1, 0.3, 0.05)
    rows = rng.random((40, 60)) < means
    cells = 0.5 * rows + 0.25 * rng.random((40, 60)) if is_measured else rows.astype(int)
    names = [f"arm {arm}" for arm in range(60)]
    table, known = tmp_path / "table.csv", tmp_path / "arms.csv"
    lines = [",".join(map(str, row)) for row in cells]
    table.write_text("\n".join([",".join(names), *lines]) + "\n")
    known.write_text("\n".join(["arm,kind", *(f"arm {a},k{kinds[a]}" for a in range(60))]) + "\n")
    arguments = ["run", table, "--k", 5, "--runs", 3, "--features", known, "--policy", "cts"]
    done = CliRunner().invoke(
        app, [str(one) for one in [*arguments, "--workers", 1, "--out", tmp_path / "out"]]
    )
    assert done.exit_code == 0, done.output
    numbers = json.loads((tmp_path / "out" / "numbers.json").read_text())
    found = {row["policy"]: row["gap_closed"][0] for row in numbers["policies"]}
    assert numbers["settings"]["features"] == "arms.csv"
    assert found["features"] > found["cts"] + 0.1
    # What to try next keeps the features.
    again = f"--k 5 --features {known.as_posix()} --context COLUMNS"
    assert again in " ".join(done.output.split())
    assert "what the features tell" in (tmp_path / "out" / "report.html").read_text()
