"""The docs are complete, and every Python block in them runs."""

import importlib
import inspect
import math
import pkgutil
import re
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from doc_pages import FOLLOWED, blocks, doc, run_python
from superarm import cli
from superarm.studies.paper.reproduction import EXPERIMENTS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
API = (ROOT / "docs" / "api.md").read_text()
# The page names modules, and shows the public members of each that have a docstring.
DOCUMENTED = re.findall(r"^::: (\S+)$", API, re.MULTILINE)
# Rooms without names for other programs.
INTERNAL = {"superarm.__main__", "superarm.cli", "superarm.reporting", "superarm.service"}
INTERNAL |= {"superarm.studies", "superarm.version"}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page) and page.name not in FOLLOWED],
    ids=lambda page: page.name,
)
def test_every_python_block_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python(page)
    assert not list(tmp_path.iterdir()), "an example must not leave files behind"


def test_the_scripts_of_people_follow_the_other_pages():
    scripts = "".join(path.read_text() for path in (ROOT / "tests" / "people").glob("test_*.py"))
    for name in FOLLOWED:
        assert doc(name).exists()
        assert f'doc("{name}")' in scripts


def test_pages_with_examples_are_found():
    assert {page.name for page in PAGES if blocks(page)} >= {
        "README.md",
        "CONTRIBUTING.md",
        "tutorial.md",
    }


def public_names(module):
    """The names in ``__all__``; without it, what the module itself defines."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {
        name
        for name, thing in inspect.getmembers(module)
        if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
    }


def test_every_room_is_in_the_reference():
    rooms = {f"superarm.{room.name}" for room in pkgutil.iter_modules(sa.__path__)}
    assert rooms - INTERNAL <= set(DOCUMENTED)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_of_a_room_is_in_the_reference(name):
    module = importlib.import_module(name)
    names = public_names(module)
    assert names
    for public in names:
        thing = getattr(module, public)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert inspect.getdoc(thing), f"{name}.{public} has no docstring, so it is not shown"
        # A file of the same name hides the function from the reference, which then needs the file.
        if hasattr(module, "__path__") and find_spec(f"{name}.{public}"):
            assert f"{name}.{public}" in DOCUMENTED


@pytest.mark.parametrize("name", [name for name in sa.__all__ if name != "theory"])
def test_every_public_name_is_in_the_reference(name):
    thing = getattr(sa, name)
    homes = [importlib.import_module(home) for home in DOCUMENTED]
    assert any(getattr(home, name, None) is thing for home in homes if name in public_names(home))


def test_every_command_and_option_is_documented():
    page = (ROOT / "docs" / "cli.md").read_text()
    for name, command in cli.app.commands.items():
        assert f"superarm {name}" in page
        for option in command.params:
            assert option.opts[0] in page, f"superarm {name} {option.opts[0]}"


def test_every_experiment_is_documented():
    page = (ROOT / "docs" / "cli.md").read_text()
    described = cli.app.commands["reproduce"].help
    for name in EXPERIMENTS:
        assert f"`{name}`" in page, name
        assert re.search(rf"\b{name}\b", described), name


@pytest.mark.parametrize("name", cli.app.commands)
def test_every_default_of_an_option_is_documented(name):
    """The line of the option has the default, in the part of the command or in the common one."""
    parts = re.split(r"^## superarm (\w+)\n", (ROOT / "docs" / "cli.md").read_text(), flags=re.M)
    pages = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    for option in cli.app.commands[name].params:
        if not isinstance(option.default, int | float | str | Path) or option.default is False:
            continue
        named = re.compile(rf"^.*`{option.opts[0]}`.*$", re.M)
        line = (named.findall(pages[name]) or named.findall(pages[""]))[0].replace(",", "")
        if isinstance(option.default, int | float):
            numbers = re.findall(r"(?<![\d.])\d+(?:\.\d+)?(?:e-?\d+)?\b(?!\.\d)", line)
            assert option.default in map(float, numbers), f"superarm {name} {option.opts[0]}"
        else:
            assert str(option.default) in line, f"superarm {name} {option.opts[0]}"


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE).group(1).split()
    for target in targets:
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), (
            f"make {target} is not in make help"
        )


def test_the_changelog_has_this_version():
    assert f"## {sa.__version__}" in (ROOT / "CHANGELOG.md").read_text().replace("[", "").replace(
        "]", ""
    )


def test_every_picture_is_on_a_page():
    texts = "".join(page.read_text() for page in PAGES)
    pictures = [*(ROOT / "docs").glob("*.svg"), *(ROOT / "docs").glob("*.png")]
    assert [picture.name for picture in pictures if f"({picture.name})" not in texts] == []


def test_pages_speak_of_the_project_alone():
    """No page contains the address of a private machine or folder."""
    for page in PAGES:
        assert not re.search(r"/work/|/home/\w|/root/|\.\./shared", page.read_text()), page


# Pages about one subject that were added after the limit was set.
_MORE = {"advice", "capacity", "done", "edge", "exploring", "features", "logs", "noisy"}
_MORE |= {"report", "slates"}


def n_words(page):
    """Words in text, tables and code. Bars of tables and signs between numbers are none."""
    parts = re.split(r"[\s|]+", page.read_text(encoding="utf-8"))
    return sum(bool(re.search(r"\w", part)) for part in parts)


def test_the_docs_are_short():
    """To add something, look for what another page says already."""
    words = {page.stem: n_words(page) for page in (ROOT / "docs").glob("*.md")}
    assert words.keys() > _MORE
    assert sum(n for page, n in words.items() if page not in _MORE) <= 28_000
    assert max(words.values()) <= 4000, words


# Claims of the pages that no block computes.


@pytest.mark.parametrize(("p", "n_bytes"), [(0.5, 1 / 8), (0.02, 1 / 8), (0.005, 16 * 0.005)])
def test_a_cell_of_random_pools_takes_as_much_memory_as_the_costs_say(p, n_bytes):
    rng, n_tests, n_arms = np.random.default_rng(0), 400, 4096
    sa.Pools.random(1, 1, p, rng=rng)  # makes the table of p, which is kept
    tracemalloc.start()
    tests = sa.Pools.random(n_tests, n_arms, p, rng=rng)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept / (len(tests) * n_arms) == pytest.approx(n_bytes, abs=0.01)


@pytest.mark.parametrize(
    "name", ["BetaBelief", "SingleSeedBelief", "SharedSeedBelief", "LearnedBetaBelief"]
)
def test_a_belief_takes_as_much_memory_as_the_costs_say(name):
    row = re.search(rf"^\| `{name}` .*$", (ROOT / "docs" / "costs.md").read_text(), re.M).group()
    said = re.search(r"(\d+); after `sample_top` (\d+) \|$", row)
    n_arms, rng = 100_000, np.random.default_rng(0)

    def taken():
        belief = getattr(sa.beliefs, name)(n_arms)
        yield tracemalloc.get_traced_memory()[0] / n_arms
        for _ in range(9):
            belief.update(belief.sample_top(1, rng=rng)[0], [1.0], rng=rng)
        yield tracemalloc.get_traced_memory()[0] / n_arms

    list(taken())  # imports what it needs
    tracemalloc.start()
    try:
        found = list(taken())
    finally:
        tracemalloc.stop()
    assert found == pytest.approx(list(map(int, said.groups())), abs=0.9)


class Valueless(sa.LinearReward):
    """A reward whose batches take no memory of their own."""

    def batch(self, pools, theta):
        return theta[: len(pools)]


@pytest.mark.parametrize(
    ("name", "said", "grows_with_k"),
    [
        ("Singletons", r"(\d+) bytes per arm", False),
        ("DependentRounding", r"(\d+); 8 bytes per arm", False),
        ("Greedy", r"(\d+)·k bytes per arm", True),
    ],
)
def test_an_oracle_takes_as_much_memory_as_the_costs_say(name, said, grows_with_k):
    row = re.search(rf"^\| `{name}`.*$", (ROOT / "docs" / "costs.md").read_text(), re.M).group()
    n_arms, rng = 20_000, np.random.default_rng(0)
    theta = rng.random(n_arms)
    oracle, reward = getattr(sa.oracles, name)(), Valueless(n_arms)

    def taken(k):
        tracemalloc.start()
        oracle.select(reward, theta, k, rng=rng)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / n_arms

    taken(2)  # imports what it needs
    found = (taken(22) - taken(2)) / 20 if grows_with_k else taken(2)
    assert found == pytest.approx(int(re.search(said, row).group(1)), abs=2)


def test_lemma_1_has_one_factor_p_too_many():
    """The summands before eq. tests2 are the probabilities of the other m - 2 arms."""
    m, p = 12, 0.3
    total = sum(math.comb(m - 2, n) * p**n * (1 - p) ** (m - 2 - n) for n in range(m - 1))
    assert math.isclose(total, 1.0)


@pytest.mark.parametrize(("std", "low", "high"), [(1.0, 0.25, 0.75), (0.1, -1.0, 0.1)])
def test_steep_networks_are_often_not_separable(std, low, high):
    """About half of the networks with the paper's weights, hardly any with a tenth of them."""
    rng = np.random.default_rng(2)
    draws = [(sa.NetworkReward.random(8, std=std, rng=rng), rng.random(8)) for _ in range(60)]
    failed = [sa.theory.separation(network, theta, k=3) <= 0 for network, theta in draws]
    assert low < np.mean(failed) < high


def found_by_group_testing(n_arms, **options):
    """The mean lead of the grades of the best arms in standard deviations, and how many it finds.

    Theta is the truth.
    """
    rng = np.random.default_rng(3)
    instance = sa.linear_instance(n_arms, 5, 0.25, rng=rng)
    oracle, leads, found = sa.GroupTesting(delta=0.25, **options), [], []
    for _ in range(60):
        arms = oracle.select(instance.reward, instance.mu, 5, rng=rng)
        grades = oracle.report.grades
        others = np.delete(grades, instance.best_arms)
        leads.append((grades[instance.best_arms].mean() - others.mean()) / others.std())
        found.append(np.isin(arms, instance.best_arms).mean())
    return np.mean(leads), np.mean(found), len(oracle.report.tests)


@pytest.mark.parametrize(
    ("n_arms", "options", "n_tests", "lead", "low", "high"),
    [
        (100, {}, 246, 0.6, 0, 0.2),
        (1000, {}, 284, 0.2, 0, 0.04),
        (100, {"decoder": "centred"}, 246, np.inf, 0.2, 0.6),
        (100, {"decoder": "centred", "n_tests": 20_000}, 20_000, np.inf, 0.95, 1),
    ],
)
def test_group_testing_finds_few_of_the_best_arms(n_arms, options, n_tests, lead, low, high):
    found = found_by_group_testing(n_arms, **options)
    assert found[0] < lead
    assert low <= found[1] <= high
    assert found[2] == n_tests


def test_q_hat_falls_as_tests_are_added():
    n_arms, rng = 14, np.random.default_rng(1)
    theta, reward = rng.random(n_arms), sa.LinearReward(n_arms)
    quantize = sa.Quantizer(delta=0.25, lipschitz=1.0, upper=reward.upper)

    def q_hat(tests):
        return sa.theory.estimate_q(tests, quantize(reward.batch(tests, theta)))

    every_set = sa.Pools.of(
        [np.flatnonzero(number >> np.arange(n_arms) & 1) for number in range(2**n_arms)], n_arms
    )
    assert q_hat(every_set) < 0.01
    few, many = (q_hat(sa.Pools.random(n, n_arms, 0.5, rng=rng)) for n in (10, 3000))
    assert few > 0.5
    assert many < 0.05
