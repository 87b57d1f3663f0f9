"""Requests of websites, of the service's own page, through proxies, and with unknown keys."""

import httpx
import pytest

from forked_server import ForkedServer
from serving import client_of, create, events_of
from superarm.service import server
from superarm.service.http import keys
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits, Settings


@pytest.fixture
def client(tmp_path):
    with client_of(tmp_path / "bandits.db", names=["bandits.example"]) as client:
        yield client


ALLOWED = [
    {},
    {"Host": "localhost:8321"},
    {"Host": "[::1]:8321", "Origin": "http://[::1]:8321", "Sec-Fetch-Site": "same-origin"},
    {"Host": "10.0.0.5"},
    {"Host": "localhost:9000", "Origin": "http://localhost:9000"},
    {
        "Host": "Bandits.Example",
        "Origin": "https://bandits.example:8443",
        "Sec-Fetch-Site": "same-origin",
    },
    {
        "Host": "127.0.0.1:8321",
        "Origin": "https://bandits.example",
        "Sec-Fetch-Site": "same-origin",
    },
]
FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example:8321"},
    {
        "Host": "evil.example:8321",
        "Origin": "http://evil.example:8321",
        "Sec-Fetch-Site": "same-origin",
    },
    {"Host": "evil:example:1"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Host": "localhost:8321", "Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", ALLOWED, ids=str)
def test_the_services_own_page_and_programs_may_change_things(client, headers):
    bandit = create(client)
    assert client.get("/", headers=headers).status_code == 200
    assert client.post(f"/v1/bandits/{bandit}/decisions", headers=headers).status_code == 201


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_other_websites_may_not(client, headers):
    bandit = create(client)
    for method, path in (("POST", "decisions"), ("DELETE", "arms/ant")):
        refused = client.request(method, f"/v1/bandits/{bandit}/{path}", headers=headers)
        assert (refused.status_code, refused.headers["content-type"]) == (
            403,
            "application/problem+json",
        )
        assert "--allowed-host" in refused.json()["fix"]
    assert (
        client.post(
            "/v1/bandits", json={"name": "x", "arms": 3, "k": 1}, headers=headers
        ).status_code
        == 403
    )
    assert len(events_of(client, bandit)) == 1
    assert len(client.get("/v1/bandits").json()["bandits"]) == 1


def test_a_name_that_was_made_to_point_here_reads_nothing(client):
    assert client.get("/v1/bandits", headers={"Host": "evil.example"}).status_code == 403
    assert (
        client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200
    )  # a link to the page


def test_a_body_without_a_type_is_refused(client):
    """Browsers send such bodies for any website, without asking the service first."""
    bandit = create(client)
    ask, body = f"/v1/bandits/{bandit}/decisions", b'{"n": 2}'
    decision = client.post(ask).json()
    tell, outcomes = f"/v1/decisions/{decision['id']}/outcomes", b'{"outcomes": {"ant": 1.0}}'
    made = b'{"name": "x", "arms": 3, "k": 1}'
    for path, raw in ((ask, body), (tell, outcomes), ("/v1/bandits", made)):
        assert client.post(path, content=raw).status_code == 415
    assert client.post(ask, headers={"Content-Type": "text/plain"}).status_code == 415
    assert len(events_of(client, bandit)) == 2


def test_with_keys_a_name_is_no_matter(tmp_path):
    key, row = keys.make("admin")
    store = SQLiteStore(tmp_path / "bandits.db", "write")
    store.add_key(row)
    store.close()
    with client_of(tmp_path / "bandits.db", with_keys=True) as client:
        headers = {
            "Host": "any.example",
            "Origin": "https://other.example",
            "Authorization": f"Bearer {key}",
        }
        answer = client.post("/v1/bandits", json={"name": "x", "arms": 3, "k": 1}, headers=headers)
        assert answer.status_code == 201


def test_a_server_knows_the_names_that_it_was_told(tmp_path):
    options = ("--allowed-host", "one.example", "--allowed-host", "Two.example")
    with ForkedServer(str(tmp_path / "bandits.db"), tmp_path / "log", *options) as server:
        with httpx.Client(base_url=server.url, timeout=60) as http:

            def status(**headers):
                body = {"name": "x", "arms": 3, "k": 1, "seed": 1}
                return http.post("/v1/bandits", json=body, headers=headers).status_code

            assert status(Origin=server.url) == 201
            assert status(Host="one.example", Origin="https://one.example") == 201
            assert status(Host="two.example") == 201
            assert status(Host="three.example") == 403
            assert status(Origin="http://127.0.0.1:1") == 403  # another server of this machine
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("options", "statuses"), [((), [200, 429, 429]), (("127.0.0.0/8",), [200, 200, 429])]
)
def test_only_a_trusted_proxy_says_whose_a_request_is(tmp_path, options, statuses):
    """The rate allows one request per address. Asking for health, at the start, is another."""
    told = [word for proxy in options for word in ("--trusted-proxy", proxy)]
    with ForkedServer(
        str(tmp_path / "bandits.db"), tmp_path / "log", "--rate", "0.0001", *told
    ) as server:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            asked = [
                http.get("/v1/bandits", headers={"X-Forwarded-For": f"10.0.0.{place}"})
                for place in (1, 2, 2)
            ]
        server.stop()
    assert [answer.status_code for answer in asked] == statuses
    assert ('"client": "10.0.0.1"' in server.said) == bool(options)


def test_a_proxy_has_an_address():
    with pytest.raises(
        server.StartError, match=r"--trusted-proxy must be an address or a network, got '\*'"
    ):
        server.serve(Settings(trusted_proxies=("*",)))


def test_guesses_at_keys_are_limited_and_good_keys_go_on(tmp_path):
    key, row = keys.make("read")
    store = SQLiteStore(tmp_path / "bandits.db", "write")
    store.add_key(row)
    store.close()
    with client_of(tmp_path / "bandits.db", with_keys=True, limits=Limits(rate=0.001)) as client:
        guesses = [
            client.get("/v1/bandits", headers={"X-API-Key": f"guess-{n}"}).status_code
            for n in range(3)
        ]
        assert guesses == [401, 429, 429]
        assert client.get("/v1/bandits").status_code == 429
        good = [client.get("/v1/bandits", headers={"X-API-Key": key}).status_code for _ in range(2)]
        assert good == [200, 429]
