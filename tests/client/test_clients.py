"""Settings of the clients, and the names of the package."""

import builtins
import contextlib
import importlib
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from both_clients import NO_WAIT
from played_service import heard, ok

import superarm.client as sc


def test_address_and_key_come_from_the_environment(connect, monkeypatch):
    monkeypatch.setenv("SUPERARM_URL", "http://elsewhere:99")
    monkeypatch.setenv("SUPERARM_KEY", "from-outside")
    sent = []
    connect(heard(ok({}), sent), url=None).health()
    connect(heard(ok({}), sent), url="http://here", key="mine").health()
    assert [str(request.url) for request in sent] == [
        "http://elsewhere:99/healthz",
        "http://here/healthz",
    ]
    assert [request.headers["Authorization"] for request in sent] == [
        "Bearer from-outside",
        "Bearer mine",
    ]


def test_keys_are_sent_and_never_shown(connect):
    sent = []
    connect(heard(ok({}), sent), key="secret").health()
    assert sent[0].headers["Authorization"] == "Bearer secret"
    for bad in ("two words", "schlüssel", "new\nline"):
        with pytest.raises(ValueError, match="key must be") as caught:
            connect([], key=bad)
        assert bad not in str(caught.value)


class Ports(BaseHTTPRequestHandler):
    """Answers with the port of the connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        content = json.dumps({"port": self.client_address[1]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving_ports():
    with ThreadingHTTPServer(("127.0.0.1", 0), Ports) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_forked_process_has_connections_of_its_own(monkeypatch):
    """Two processes on one connection would get each other's answers."""
    with serving_ports() as url, sc.Client(url) as client, contextlib.ExitStack() as parent:
        parent.enter_context(client._http)  # closed at the end
        before = [client.health()["port"] for _ in range(2)]
        monkeypatch.setattr(os, "getpid", lambda: -1)
        after = [client.health()["port"] for _ in range(2)]
    assert len(set(before)) == len(set(after)) == 1
    assert before != after


def test_public_names_are_sorted_and_documented():
    assert sorted(sc.__all__) == sc.__all__
    assert all(getattr(sc, name).__doc__ for name in sc.__all__)
    assert NO_WAIT.tries == sc.Retries().tries


def test_a_missing_extra_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_httpx(name, *args, **options):
        if name == "httpx":
            raise ModuleNotFoundError("No module named 'httpx'", name="httpx")
        return real(name, *args, **options)

    for name in [name for name in sys.modules if name.startswith("superarm.client")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_httpx)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[client\]' in a clone"):
        importlib.import_module("superarm.client")


@pytest.mark.parametrize("make", [sc.Client, sc.AsyncClient])
@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("127.0.0.1:8321", "write http://127.0.0.1:8321"),
        ("localhost:8321", "write http://localhost:8321"),
        ("user:secret@bandits:80", "write http://bandits:80"),
        ("//bandits", "write http://bandits"),
        ("ftp://bandits", "write http://HOST:PORT"),
        ("http://", "write http://HOST:PORT"),
        ("http://bandits:port", "write http://HOST:PORT"),
    ],
)
def test_an_address_that_no_request_can_reach_is_refused_at_once(make, url, advice, monkeypatch):
    with pytest.raises(ValueError, match="must begin with http:// or https://") as found:
        make(url)
    assert str(found.value).endswith(advice)
    assert "secret" not in str(found.value)
    monkeypatch.setenv("SUPERARM_URL", url)
    with pytest.raises(ValueError, match="must begin with http:// or https://"):
        make()
