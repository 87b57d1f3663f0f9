"""The files around the code: they parse, agree with each other, and name commands that exist."""

import configparser
import importlib
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from superarm import __version__
from superarm.cli import app

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
YAML = [
    ROOT / ".pre-commit-config.yaml",
    ROOT / "CITATION.cff",
    ROOT / ".github" / "workflows" / "ci.yml",
    *TEMPLATES,
]
PROSE = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ROOT / ".github" / "pull_request_template.md",
    *YAML,
]
LAYERS = PYPROJECT["tool"]["importlinter"]["contracts"][0]["layers"]


def load(path):
    return yaml.safe_load(path.read_text())


def names(path):
    return path.name


@pytest.mark.parametrize("path", YAML, ids=names)
def test_yaml_files_parse(path):
    assert isinstance(load(path), dict)


@pytest.mark.parametrize("path", PROSE, ids=names)
def test_commands_that_are_named_exist(path):
    text = path.read_text()
    for name in re.findall(r"`superarm ([a-z]+)", text):
        assert name in app.commands, f"superarm {name}"
    for target in re.findall(r"`make ([a-z]+)", text):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"make {target}"


def test_pre_commit_runs_the_checks_of_make_check():
    def recipe(target):
        found = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
        return [line.strip().replace("$(BIN)", ".venv/bin") for line in found.group(1).splitlines()]

    # `make check` makes other targets, two at a time.
    (parts,) = recipe("check")
    checks = [line for part in parts.partition("-j 2")[2].split() for line in recipe(part)]
    (local,) = load(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == checks
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def test_the_workflow_runs_the_script_of_ci_on_every_supported_python():
    job = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    classifiers = PYPROJECT["project"]["classifiers"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    assert job["strategy"]["matrix"]["python"] == supported
    assert PYPROJECT["project"]["requires-python"] == f">={supported[0]}"


def test_the_citation_has_this_version_and_this_licence():
    citation = load(ROOT / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == PYPROJECT["project"]["license"]
    (paper,) = citation["references"]
    assert len(paper["authors"]) == 5


def test_the_template_for_bugs_asks_for_the_seed_and_the_version():
    fields = {field.get("id"): field for field in load(TEMPLATES[0])["body"]}
    for name in ("seed", "version"):
        assert fields[name]["validations"]["required"]


def test_the_editor_and_the_linter_agree_on_the_length_of_lines():
    parser = configparser.ConfigParser()
    parser.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    assert parser.getint("*", "max_line_length") == PYPROJECT["tool"]["ruff"]["line-length"]


def test_contributing_shows_the_rooms_of_the_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    picture = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
    # Two or more spaces separate the row from its explanation.
    assert [re.split(r" {2,}", line)[0] for line in picture.splitlines()] == LAYERS
    assert len(LAYERS) <= 10


def test_the_layers_are_the_rooms():
    rooms = {room for row in LAYERS for room in row.split(" | ")}
    found = {
        path.stem
        for path in (ROOT / "src" / "superarm").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert found == rooms | {"__init__", "__main__"}


def test_the_tests_have_the_same_rooms():
    """A room that is one file is tested by files at the top."""
    rooms = {path.parent.name for path in (ROOT / "src" / "superarm").glob("*/__init__.py")}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    folders |= {path.parent.parent.name for path in (ROOT / "tests").glob("*/*/test_*.py")}
    assert folders - {"benchmarks", "people"} == rooms


def test_no_source_file_has_more_than_300_lines():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "src").rglob("*.py")
    }
    assert len(lengths) > 100
    assert {path: length for path, length in lengths.items() if length > 300} == {}


def test_the_readme_is_short_and_in_order():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    parts = ("**Pick the best", "make demo", "```python", "![", "| oracle |", "| regret |")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "room", ["rewards", "beliefs", "oracles", "sets", "environments", "policies"]
)
def test_the_readme_names_all_parts(room):
    text = (ROOT / "README.md").read_text()
    # A part of feasible sets, and what an integer k is made into.
    names = set(importlib.import_module(f"superarm.{room}").__all__) - {"Group", "KOfM"}
    assert {name for name in names if f"`{name}`" not in text} == set()


def anchors(path):
    """The addresses of the headings of a page, as forges and mkdocs make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"\s+", "-", heading) for heading in plain}


@pytest.mark.parametrize("path", PROSE[:3], ids=names)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text()):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        page = ROOT / file if file else path
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), target


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    examples = {"fading.py", "greedy_helps.py"}  # the files that a reader is asked to write
    paths = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.]+)`", text)
    assert len(paths) > 10
    for path in paths:
        assert (ROOT / path).exists() != (Path(path).name in examples), path


def test_every_pin_is_a_plain_version():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines == sorted(lines, key=str.lower)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)


def test_test_files_have_distinct_names():
    """Their folders are no packages, so two files of one name would be one module."""
    found = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(found) == sorted(set(found))
