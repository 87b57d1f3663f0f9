"""One server for all tests of the page, and one browser per file: each takes seconds to start."""

import re
import shutil

import httpx
import pytest
from page_steps import FRUIT, PATIENCE_MS

from forked_server import ForkedServer

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with ForkedServer(str(folder / "page.db"), folder / "server.log") as server:
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


@pytest.fixture(scope="module")
def tab(browser):
    """A tab per file: a new tab costs as much as the page in it."""
    context = new_context(browser)
    yield context.new_page()
    context.close()


def new_context(browser, **more):
    """A context without animations, because they change colours while these are measured."""
    settings = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = browser.new_context(**{**settings, **more})
    context.set_default_timeout(PATIENCE_MS)
    return context


def forget(tab):
    """Leave the page, and remove what it has stored. The empty page stays in the same process."""
    tab.unroute_all()
    with tab.expect_navigation(url="about:blank"):
        tab.evaluate(
            "localStorage.clear(), sessionStorage.clear(), void location.replace('about:blank')"
        )


@pytest.fixture
def visit(browser, tab, server):
    """Open the page, in its own context if it needs one: ``visit(path, **context)``."""
    contexts, said, asked, expected = [], [], [], []
    listeners = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: asked.append(request.url),
    }

    def open_page(path="/", *, at=server, expect=(), **more):
        page = tab
        if more or at != server or tab.url != "about:blank":
            contexts.append(new_context(browser, **more))
            page = contexts[-1].new_page()
        for event, listener in listeners.items():
            page.on(event, listener)
        expected.extend(expect)
        page.goto(at + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    if tab.url != "about:blank":
        forget(tab)
        for event, listener in listeners.items():
            tab.remove_listener(event, listener)
    assert [text for text in said if not any(part in text for part in expected)] == []
    assert asked
    assert {re.match(r"https?://([^:/]+)", url)[1] for url in asked} == {"127.0.0.1"}


@pytest.fixture
def other(server):
    """Another client of the same server: ``other(method, path, body)``."""
    # Certificates, which plain HTTP does not need, take 30 ms to read.
    with httpx.Client(base_url=server, timeout=30, verify=False) as client:
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
