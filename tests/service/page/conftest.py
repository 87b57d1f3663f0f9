"""One server and one browser for all tests of the page: each takes seconds to start."""

import re
import shutil
from contextlib import ExitStack

import httpx
import pytest
from page_steps import FRUIT, PATIENCE_MS

from forked_server import ForkedServer

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
# No page lives long enough to win back the time of an optimising compiler.
FLAGS += ["--js-flags=--no-opt"]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with ForkedServer(str(folder / "page.db"), folder / "server.log") as server:
        yield server.url
        server.stop()


# The browser and its tab, and what closes them.
_OPEN = {}


@pytest.fixture
def browser():
    """One browser for all tests in a row: starting one takes seconds."""
    if "browser" not in _OPEN:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if chromium is None:
            pytest.skip("no browser is installed")
        sync_api = pytest.importorskip("playwright.sync_api")
        with ExitStack() as stack:
            started = stack.enter_context(sync_api.sync_playwright()).chromium.launch(
                executable_path=chromium, headless=True, args=FLAGS
            )
            stack.callback(started.close)
            _OPEN.update(browser=started, closing=stack.pop_all())
    return _OPEN["browser"]


@pytest.fixture
def tab(browser):
    """One tab as well: a new tab costs as much as the page in it."""
    if "tab" not in _OPEN:
        context = new_context(browser)
        _OPEN["closing"].callback(context.close)
        _OPEN["tab"] = context.new_page()
    return _OPEN["tab"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Close the browser before the next test that needs none.

    Playwright's event loop would block tests that run their own loop.
    """
    result = yield
    if _OPEN and "browser" not in getattr(nextitem, "fixturenames", ()):
        _OPEN["closing"].close()
        _OPEN.clear()
    return result


def new_context(browser, **more):
    """A context without animations, because they change colours while these are measured."""
    settings = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = browser.new_context(**{**settings, **more})
    context.set_default_timeout(PATIENCE_MS)
    return context


def forget(tab):
    """Leave the page, and remove what it has stored. The empty page stays in the same process."""
    tab.unroute_all(behavior="ignoreErrors")
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

    def open_page(path="/", *, at=server, expect=(), scheme="light", **more):
        page = tab
        if more or at != server or tab.url != "about:blank":
            contexts.append(new_context(browser, **more))
            page = contexts[-1].new_page()
        for event, listener in listeners.items():
            page.on(event, listener)
        expected.extend(expect)
        page.emulate_media(color_scheme=scheme)
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
