"""The search of the docs: pages opened from a disk have no workers, so a frame searches."""

import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PAGE = """
<meta charset="utf-8"><body><script src="iframe-worker.js"></script><script>
const worker = new Worker("echo.js")
worker.addEventListener("message", ({ data }) => (document.title += data))
worker.postMessage("first,")
worker.postMessage("second")
</script>
"""
ECHO = 'addEventListener("message", ({ data }) => postMessage(data))'


def test_the_index_is_a_script_and_nothing_is_fetched_from_elsewhere():
    class Loader(yaml.SafeLoader):
        """Also reads the tags of mkdocs, whose values do not matter here."""

    Loader.add_multi_constructor("!", lambda *_: None)
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)
    assert "offline" in settings["plugins"]
    # Of another name, the plugin would add an address on the web.
    assert settings["extra"]["polyfills"] == ["iframe-worker.js"]


def test_a_frame_answers_like_a_worker(tmp_path):
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser is installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    shutil.copy(ROOT / "docs" / "iframe-worker.js", tmp_path)
    (tmp_path / "echo.js").write_text(ECHO)
    (tmp_path / "page.html").write_text(PAGE)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto((tmp_path / "page.html").as_uri())
        tab.wait_for_function("document.title === 'first,second'", timeout=20_000)
        browser.close()
