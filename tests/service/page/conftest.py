"""One server for all tests of the page, and one browser per file: each takes seconds to start."""

import re
import shutil

import httpx
import pytest
from page_steps import FRUIT

from server_process import Server

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with Server(str(folder / "page.db"), folder / "server.log") as server:
        yield server.url
        server.stop()


@pytest.fixture(scope="module")
def browser():
    """A browser per file: Playwright's event loop would block tests that run their own loop."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser is installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, server):
    """Open the page in its own browser context: ``visit(path, **context)``."""
    contexts, said, asked, expected = [], [], [], []

    def open_page(path="/", *, at=server, expect=(), **more):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **more})
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        expected.extend(expect)
        page.goto(at + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in said if not any(part in text for part in expected)] == []
    assert asked
    assert {re.match(r"https?://([^:/]+)", url)[1] for url in asked} == {"127.0.0.1"}


@pytest.fixture
def other(server):
    """Another client of the same server: ``other(method, path, body)``."""
    with httpx.Client(base_url=server, timeout=30) as client:
        yield (
            lambda method, path, body=None: (
                client.request(method, path, json=body).raise_for_status().json()
            )
        )


@pytest.fixture
def bandit(other, request):
    return other(
        "POST", "/v1/bandits", {"name": request.node.name, "arms": FRUIT, "k": 2, "seed": 1}
    )
