"""Take the pictures of the service's page in a browser.

Run ``PYTHONPATH=benchmarks python docs/page_pictures.py``. The script needs Chromium. It starts its
own server, with a bandit that has learned from a seeded environment for 240 rounds.
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
STORIES = """
    budget storm recipe derby quiz obituary election strike harbour museum orchard parade satellite
    tunnel violin winter bridge canal festival glacier lantern meadow opera
""".split()  # noqa: SIM905 (one line per story would be longer than the rest)
N_ROUNDS = 240
# Also on small machines, without a connection to anywhere.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def play(server: httpx.Client) -> str:
    """Make a bandit with a history and return its id. Its last two decisions are open."""
    rng = random.Random(1)
    means = {story: rng.random() for story in STORIES}
    spec = {"name": "Front page", "arms": STORIES, "k": 4, "seed": 3, "oracle": "lazy_singletons"}
    bandit = server.post("/v1/bandits", json=spec).json()["id"]
    for turn in range(N_ROUNDS):
        decision = server.post(f"/v1/bandits/{bandit}/decisions").json()
        outcomes = {arm: float(rng.random() < means[arm]) for arm in decision["arms"]}
        if turn == N_ROUNDS - 2:
            outcomes = {decision["arms"][0]: 1.0}
        if turn < N_ROUNDS - 1:
            path = f"/v1/decisions/{decision['id']}/outcomes"
            server.post(path, json={"outcomes": outcomes}).raise_for_status()
    server.delete(f"/v1/bandits/{bandit}/arms/obituary")
    sensors = {"name": "Sensors", "arms": 5000, "k": 8, "reward": "any_success"}
    server.post("/v1/bandits", json=sensors)
    server.post("/v1/bandits", json={"name": "Promotions", "arms": 40, "k": 10})
    return bandit


def take(address: str) -> None:
    """Take both pictures: the page in light colours, an explanation in dark colours."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in (("light", "page"), ("dark", "explain")):
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
            page.goto(address)
            page.locator(".decision").first.wait_for()
            if name == "explain":
                page.keyboard.press("e")
                page.locator("dialog figure").wait_for()
            page.wait_for_timeout(500)
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            # A palette of 256 colours halves the size of the file.
            palette = taken.quantize(256, Image.Quantize.MAXCOVERAGE)
            palette.save(HERE / f"service-{name}.png", optimize=True)
        browser.close()


def main() -> None:
    """Serve, play, and take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(f"{folder}/page.db", Path(folder) / "log") as server,
    ):
        with httpx.Client(base_url=server.url) as client:
            bandit = play(client)
        take(f"{server.url}/#/b/{bandit}")


if __name__ == "__main__":
    main()
