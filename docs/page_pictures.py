"""The pictures of the service's page, taken in a browser: ``PYTHONPATH=benchmarks python docs/page_pictures.py``.

Starts a server of its own with a bandit that has learnt for 240 rounds from a seeded world, and needs Chromium.
"""

from __future__ import annotations

import io
import random
import shutil
import tempfile
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import sync_playwright

from server_process import Server

HERE = Path(__file__).parent
STORIES = [
    "budget",
    "storm",
    "recipe",
    "derby",
    "quiz",
    "obituary",
    "election",
    "strike",
    "harbour",
    "museum",
]
STORIES += [
    "orchard",
    "parade",
    "satellite",
    "tunnel",
    "violin",
    "winter",
    "bridge",
    "canal",
    "festival",
    "glacier",
]
STORIES += ["lantern", "meadow", "opera"]


def play(server: httpx.Client) -> str:
    """The id of a bandit with a past: most decisions are told about, the last ones are open."""
    world = random.Random(1)
    chances = {story: world.random() for story in STORIES}
    spec = {"name": "Front page", "arms": STORIES, "k": 4, "seed": 3, "oracle": "lazy_singletons"}
    bandit = server.post("/v1/bandits", json=spec).json()["id"]
    for turn in range(240):
        decision = server.post(f"/v1/bandits/{bandit}/decisions").json()
        outcomes = {arm: float(world.random() < chances[arm]) for arm in decision["arms"]}
        if turn == 238:
            outcomes = {decision["arms"][0]: 1.0}
        if turn < 239:
            server.post(
                f"/v1/decisions/{decision['id']}/outcomes", json={"outcomes": outcomes}
            ).raise_for_status()
    server.delete(f"/v1/bandits/{bandit}/arms/obituary")
    server.post(
        "/v1/bandits", json={"name": "Sensors", "arms": 5000, "k": 8, "reward": "any_success"}
    )
    server.post("/v1/bandits", json={"name": "Promotions", "arms": 40, "k": 10})
    return bandit


def take(address: str) -> None:
    """Both pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme, name in (("light", "page"), ("dark", "explain")):
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
            page.goto(address)
            page.locator(".decision").first.wait_for()
            if name == "explain":
                page.keyboard.press("e")
                page.locator("dialog figure").wait_for()
            page.wait_for_timeout(500)
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            few = taken.quantize(256, Image.Quantize.MAXCOVERAGE)  # half of the bytes
            few.save(HERE / f"service-{name}.png", optimize=True)
        browser.close()


def main() -> None:
    """Serve, play, take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(f"{folder}/page.db", Path(folder) / "log") as server,
    ):
        with httpx.Client(base_url=server.url) as client:
            bandit = play(client)
        take(f"{server.url}/#/b/{bandit}")


if __name__ == "__main__":
    main()
