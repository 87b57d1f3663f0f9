"""``superarm serve`` in a process of its own, for tests and pictures of the page."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.contextmanager
def start_server(folder, *options):
    """The address of a server whose database is in a folder; it is stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "superarm", "serve", "--database", str(folder / "page.db"), "--port", str(port)]
    log = folder / "server.log"
    with log.open("wb") as out, subprocess.Popen([*command, *options], stdout=out, stderr=out) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/healthz", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(address, process, log):
    for _ in range(600):
        if process.poll() is not None:
            break
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(address).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {log.read_text()}")
