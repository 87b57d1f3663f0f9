"""The files of the page, and the headers they are sent with."""

import re
from importlib import resources
from pathlib import Path

import pytest

from serving import client_of
from superarm.service.page.files import POLICY, answer

STATIC = Path(str(resources.files("superarm.service.page"))) / "static"
SUFFIXES = {".css", ".html", ".js", ".svg"}  # licences and types are not sent
FILES = {
    file.relative_to(STATIC).as_posix() for file in STATIC.rglob("*") if file.suffix in SUFFIXES
}


def test_no_file_makes_markup_of_text():
    """Own files do not use what the policy forbids, nor preact's way to make markup of text."""
    forbidden = (
        "innerHTML|outerHTML|insertAdjacentHTML|document\\.write|\\beval\\(|new Function|style="
    )
    for file in FILES:
        text = (STATIC / file).read_text()
        found = re.findall(forbidden, text, re.IGNORECASE)
        assert not found or file.startswith("vendor/"), file
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), (
            f"{file} has an address elsewhere"
        )
    index = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|<script(?![^>]* src=)|\son\w+=", index)


def test_the_page_is_sent_with_its_policy():
    page = answer("/")
    assert page.headers["Content-Security-Policy"] == POLICY
    assert "'unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")
    for name, value in {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }.items():
        assert page.headers[name] == value


def test_every_part_is_there_and_kept_for_good():
    parts = {"/" + part for part in re.findall(r'"(static/[^"]+)"', answer("/").body.decode())}
    named = {part.removeprefix("/static/").partition("/")[2] for part in parts}
    assert named == FILES - {"index.html"}  # all are fetched at once
    for path in parts:
        sent = answer(path)
        assert sent.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer(path, sent.headers["ETag"]).status == 304
        assert answer(path, 'W/"x", ' + sent.headers["ETag"]).body == b""
        assert answer(path, '"another"').status == 200
        folder = path.rpartition("/")[0]
        for name in re.findall(r'from "\./([^"]+)"', sent.body.decode()):
            assert answer(f"{folder}/{name}").status == 200


def test_another_version_is_not_kept():
    sent = answer("/static/0123456789abcdef/page.js")
    assert sent.headers["Cache-Control"] == "no-cache"
    assert sent.body == answer("/static/page.js").body


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/index.html",
        "/static/../static.py",
        "/static/%2e%2e/static.py",
        "/static/x.js",
        "//",
    ],
)
def test_nothing_else_is_sent(path):
    assert answer(path) is None


def test_the_server_sends_them(tmp_path):
    with client_of(tmp_path / "test.db") as client:
        page = client.get("/")
        assert page.status_code == 200
        assert page.headers["content-security-policy"] == POLICY
        assert client.get("/", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
        assert client.request("HEAD", "/").content == b""
        part = re.search(r"static/[0-9a-f]+/page\.js", page.text)[0]
        assert client.get(f"/{part}").headers["content-type"] == "text/javascript; charset=utf-8"
        missing = client.get("/static/nothing.js")
        assert (missing.status_code, missing.headers["content-type"]) == (
            404,
            "application/problem+json",
        )
        assert "/static" not in str(client.get("/openapi.json").json()["paths"])
