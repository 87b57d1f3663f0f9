"""The pictures of the service's page, taken in a browser: ``PYTHONPATH=tests python docs/page_pictures.py``.

Starts a server of its own with a bandit that has learnt for 240 rounds from a seeded world, and needs Chromium.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from page_server import CHROMIUM_FLAGS, start_server

HERE = Path(__file__).parent
STORIES = ["budget", "storm", "recipe", "derby", "quiz", "obituary", "election", "strike", "harbour", "museum"]
STORIES += ["orchard", "parade", "satellite", "tunnel", "violin", "winter", "bridge", "canal", "festival", "glacier"]
STORIES += ["lantern", "meadow", "opera"]


def call(url: str, method: str = "GET", body: Any = None) -> Any:
    """What the server answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def play(server: str) -> str:
    """The address of a bandit with a past: most decisions are told about, the last ones are open."""
    world = random.Random(1)
    chances = {story: world.random() for story in STORIES}
    spec = {"name": "Front page", "arms": STORIES, "k": 4, "seed": 3, "oracle": "lazy_singletons"}
    bandit = call(f"{server}/v1/bandits", "POST", spec)["id"]
    for turn in range(240):
        decision = call(f"{server}/v1/bandits/{bandit}/decisions", "POST", {})
        outcomes = {arm: float(world.random() < chances[arm]) for arm in decision["arms"]}
        if turn == 238:
            outcomes = {decision["arms"][0]: 1.0}
        if turn < 239:
            call(f"{server}/v1/decisions/{decision['id']}/outcomes", "POST", {"outcomes": outcomes})
    call(f"{server}/v1/bandits/{bandit}/arms/obituary", "DELETE")
    call(f"{server}/v1/bandits", "POST", {"name": "Sensors", "arms": 5000, "k": 8, "reward": "any_success"})
    call(f"{server}/v1/bandits", "POST", {"name": "Promotions", "arms": 40, "k": 10})
    return f"{server}/#/b/{bandit}"


def main() -> None:
    """Take both pictures."""
    with tempfile.TemporaryDirectory() as folder, start_server(Path(folder)) as server, sync_playwright() as playwright:
        address = play(server)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
        for scheme, name in (("light", "page"), ("dark", "explain")):
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
            page.goto(address)
            page.locator(".decision").first.wait_for()
            if name == "explain":
                page.keyboard.press("e")
                page.locator("dialog figure").wait_for()
            page.wait_for_timeout(500)
            taken = Image.open(io.BytesIO(page.screenshot()))
            taken.quantize(128).save(HERE / f"service-{name}.png", optimize=True)  # a third of the bytes
        browser.close()


if __name__ == "__main__":
    main()
