"""``superarm run`` on a log of shown items: the honest method, and the right command."""

import csv
import json

import numpy as np
import pytest

from commands import run

N_ROUNDS, N_ITEMS, K = 300, 8, 2
MEANS = np.linspace(0.02, 0.98, N_ITEMS)


def rows_of(*, every=False):
    rng = np.random.default_rng(2)
    for number in range(N_ROUNDS):
        shown = range(N_ITEMS) if every else rng.choice(N_ITEMS, K, replace=False)
        for place, item in enumerate(shown, start=1):
            click = int(rng.random() < MEANS[item] / place**0.5)
            yield number, f"item {item}", place, click, K / N_ITEMS


HEAD = ("request_id", "item_id", "position", "click", "propensity")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for name, every in (("log", False), ("whole", True)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(HEAD)
            writer.writerows(rows_of(every=every))
    (folder / "log.parquet").unlink(missing_ok=True)
    import duckdb  # here: a module that keeps it makes it complain at the end of the process

    duckdb.read_csv(str(folder / "log.csv")).write_parquet(str(folder / "log.parquet"))
    return folder


def asked(path, out, *more):
    columns = ("--item", "item_id", "--outcome", "click", "--round", "request_id")
    return run("run", path, "--k", K, *columns, *more, "--out", out)


def test_a_log_without_options_is_answered_with_the_right_command(folder, tmp_path):
    refused = run("run", folder / "log.csv", "--k", K, "--out", tmp_path)
    assert refused.exit_code == 2
    assert "looks like a log with one row per shown item" in refused.output
    wanted = "--item item_id --outcome click --round request_id --position position --propensity"
    assert wanted in " ".join(refused.output.split())
    assert not list(tmp_path.iterdir())


def test_without_propensities_a_log_only_starts_a_policy(folder, tmp_path):
    """The first item is one of the best two: for another seed, not with a probability of 0.001.

    Each item has about 75 rounds, so that the click rate of the third best is 4 errors below.
    """
    done = asked(folder / "log.csv", tmp_path, "--position", "position")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "what other sets would have earned cannot be told from this log" in said
    assert "PositionBiasedBelief" in said
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert (numbers["method"], numbers["valued"]) == ("warm start", [])
    assert sum(one["shown"] for one in numbers["items"]) == K * N_ROUNDS
    assert numbers["items"][0]["item"] in {"item 7", "item 6"}
    assert [one["place"] for one in numbers["places"]] == [1, 2]
    page = (tmp_path / "report.html").read_text()
    assert "what a log of shown items can say" in page
    assert len((tmp_path / "items.csv").read_text().splitlines()) == 1 + N_ITEMS


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_with_propensities_other_sets_are_valued(folder, tmp_path, name):
    """Over 60 other seeds, the gap of the intervals is 4.2 of its standard deviations above 0.

    So the error rate is below 1e-4. The two values of random sets differ by less than 1%.
    """
    done = asked(folder / name, tmp_path, "--propensity", "propensity")
    assert done.exit_code == 0, done.output
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    logged, random, best = numbers["valued"]
    assert numbers["method"] == "estimates"
    # Sets are random in this log, so the first two are the same thing.
    assert logged["value"] == pytest.approx(random["value"], rel=0.2)
    assert best["low"] > random["high"]


def test_a_log_of_every_item_is_replayed(folder, tmp_path):
    more = ("--runs", "2", "--policy", "thompson", "--workers", "1", "--horizon", "100")
    done = asked(folder / "whole.csv", tmp_path, *more)
    assert done.exit_code == 0, done.output
    assert "so it is a table" in " ".join(done.output.split())
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + N_ROUNDS
    assert (tmp_path / "runs.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--item", "item_id"), "is read as a log, which needs"),
        (
            ("--item", "what", "--outcome", "click", "--round", "request_id"),
            "columns must be of request_id, item_id, position, click, propensity, got 'what'",
        ),
        (
            ("--item", "item_id", "--outcome", "request_id", "--round", "position"),
            "must have numbers from 0 to 1",
        ),
    ],
)
def test_wrong_columns_are_answered(folder, tmp_path, options, message):
    refused = run("run", folder / "log.csv", "--k", K, *options, "--out", tmp_path)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())


@pytest.mark.parametrize("k", [N_ITEMS, N_ITEMS + 1])
def test_a_set_of_all_items_is_refused(folder, tmp_path, k):
    columns = ("--item", "item_id", "--outcome", "click", "--round", "request_id")
    refused = run("run", folder / "log.csv", "--k", k, *columns, "--out", tmp_path)
    assert refused.exit_code == 2
    assert f"--k must be between 1 and 7, got {k}: the log has 8 items" in refused.output
    assert not list(tmp_path.iterdir())
