"""Session files: whole or refused, the previous one kept, and continued bit for bit."""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import killing
import superarm as sa
from superarm.errors import SessionFileError
from superarm.sessions import Expiry, files
from superarm.sessions.ledger import Record
from superarm.sessions.state import session_state

FIXTURE = Path(__file__).parents[1] / "data" / "session-v1.superarm"


def policy(n_arms=8, k=3):
    return sa.Policy(sa.BetaBelief(n_arms), sa.LazySingletons(), sa.LinearReward(n_arms), k)


def played(n_rounds=12, **options):
    session = sa.Session(policy(), list("abcdefgh"), seed=7, clock=lambda: 0.0, **options)
    play(session, n_rounds)
    return session


def play(session, n_rounds):
    decisions = []
    for _ in range(n_rounds):
        decisions.append(session.ask())
        first, second, _ = sorted(decisions[-1].arms)  # not by place: that was so in version 1
        session.tell(decisions[-1].id, {first: 0.75, second: 0.0})  # the third stays open
    return decisions


def write_fixture():
    """How the file of version 1 was made."""
    session = played(expiry=Expiry(after_rounds=9, missing=0.0), rewards=sa.LinearReward)
    session.add_arms(["i", "j"], prior=(2.0, 3.0))
    session.retire("b")
    play(session, 5)
    session.fork("replica")
    session.save(FIXTURE)


def test_a_file_of_version_1_loads_and_goes_on():
    session = sa.Session.load(FIXTURE, policy, clock=lambda: 0.0)
    assert session.names == tuple("abcdefghij")
    assert session.retired == ("b",)
    assert session.rounds == 17
    assert session.expiry == Expiry(after_rounds=9, missing=0.0)
    assert len(session.open) == 10
    golden = json.loads(FIXTURE.with_suffix(".json").read_text())
    decisions = play(session, 10)
    assert [[decision.id, sorted(decision.arms)] for decision in decisions] == golden["decisions"]
    assert all(decision.ranked for decision in decisions)
    assert session.policy.belief.a.tolist() == golden["a"]
    with pytest.raises(ValueError, match="'replica' again"):
        session.fork("replica")


def test_the_same_session_gives_the_same_bytes(tmp_path):
    one, other = played(), played()
    for session, name in ((one, "one"), (other, "other")):
        session.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_any_zip_tool_reads_it(tmp_path):
    session = sa.Session(sa.cts(sa.LinearReward(100), 3), seed=0)
    session.ask()
    session.save(tmp_path / "session")
    with zipfile.ZipFile(tmp_path / "session") as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == {"session.json", "belief/a.npy", "belief/b.npy"}
        main = json.loads(archive.read("session.json"))
        assert (
            np.load(io.BytesIO(archive.read("belief/a.npy")), allow_pickle=False).tolist()
            == [1.0] * 100
        )
    assert main["version"] == 2
    assert main["policy"]["belief"] == "BetaBelief"


@pytest.mark.parametrize("keep", [0, 1, 10, -100, -65, -1])
def test_a_file_cut_short_is_refused(tmp_path, keep):
    played().save(tmp_path / "session")
    data = (tmp_path / "session").read_bytes()
    (tmp_path / "session").write_bytes(data[:keep])
    with pytest.raises(SessionFileError, match="cut short or altered"):
        sa.Session.load(tmp_path / "session", policy())


def test_a_file_altered_anywhere_is_refused(tmp_path):
    path = tmp_path / "session"
    sa.Session(sa.cts(sa.LinearReward(2), 1), seed=0).save(path)
    data = bytearray(path.read_bytes())
    for place in range(len(data)):
        data[place] ^= 1
        path.write_bytes(data)
        with pytest.raises(SessionFileError, match="altered"):
            sa.Session.load(path, sa.cts(sa.LinearReward(2), 1))
        data[place] ^= 1
    path.write_bytes(data + b"\n")
    with pytest.raises(SessionFileError, match="altered"):
        sa.Session.load(path, sa.cts(sa.LinearReward(2), 1))


def test_the_one_before_is_kept_and_a_damaged_one_does_not_push_it_out(tmp_path):
    path, session = tmp_path / "session", played(0)
    for rounds in range(1, 4):
        play(session, 1)
        session.save(path)
        assert sa.Session.load(path, policy()).rounds == rounds
        if rounds > 1:
            assert sa.Session.load(files.previous(path), policy()).rounds == rounds - 1
    path.write_bytes(path.read_bytes()[:-9])
    play(session, 1)
    session.save(path)
    assert sa.Session.load(path, policy()).rounds == 4
    assert sa.Session.load(files.previous(path), policy()).rounds == 2
    assert sorted(found.name for found in tmp_path.iterdir()) == ["session", "session.previous"]


@pytest.mark.skipif(os.name != "posix", reason="a folder can be flushed on POSIX systems only")
def test_a_save_flushes_the_file_before_it_is_renamed_and_the_folder_after(tmp_path, monkeypatch):
    """Otherwise a power failure could lose the new file, or the renaming."""
    path, steps = tmp_path / "a.superarm", []
    fsync, replace = os.fsync, Path.replace

    def flush(handle):
        steps.append("folder" if os.fstat(handle).st_ino == tmp_path.stat().st_ino else "file")
        fsync(handle)

    def rename(fresh, target):
        steps.append("renamed")
        return replace(fresh, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(Path, "replace", rename)
    played().save(path)
    assert steps == ["file", "renamed", "folder"]


@pytest.mark.parametrize("call", ["fsync", "link", "replace"])
def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch, call):
    path, session = tmp_path / "session", played()
    session.save(path)
    before = path.read_bytes()
    play(session, 1)

    def fail(*_, **__):
        raise RuntimeError("no more room")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(RuntimeError, match="no more room"):
        session.save(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["session"]


def test_file_systems_without_links_are_served(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("no links")

    monkeypatch.setattr(os, "link", refuse)
    session = played()
    for _ in range(2):
        session.save(tmp_path / "session")
    assert (tmp_path / "session.previous").read_bytes() == (tmp_path / "session").read_bytes()


def test_what_killed_writers_leave_is_swept_up_later(tmp_path):
    old, new = tmp_path / ".session.1-aa.tmp", tmp_path / ".session.2-bb.tmp"
    for leftover in (old, new):
        leftover.write_bytes(b"half")
    os.utime(old, (0, 0))
    played().save(tmp_path / "session")
    assert not old.exists()
    assert new.exists()  # may belong to a writer at work


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: policy(9), "'n_arms': 8"),
        (lambda: policy(k=2), "'k': 3"),
        (lambda: sa.cts(sa.LinearReward(8), 3), "'oracle': 'LazySingletons'"),
        (
            lambda: sa.Policy(sa.UCBBelief(8), sa.LazySingletons(), sa.LinearReward(8), 3),
            "'belief': 'BetaBelief'",
        ),
        (
            lambda: sa.Policy(
                sa.BetaBelief(8), sa.LazySingletons(n_points=5), sa.LinearReward(8), 3
            ),
            "n_points",
        ),
    ],
)
def test_another_policy_is_refused_and_left_alone(tmp_path, make, says):
    played().save(tmp_path / "session")
    made = make()
    before = made.belief.state()
    with pytest.raises(SessionFileError, match=says):
        sa.Session.load(tmp_path / "session", made)
    assert made.belief.state() == before
    assert made.evaluations == 0


def test_errors_of_a_function_that_makes_the_policy_are_its_own(tmp_path):
    path = tmp_path / "session"
    sa.Session(sa.thompson(sa.LinearReward(4), k=2), seed=1).save(path)
    with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given"):
        sa.Session.load(path, lambda: sa.thompson(sa.LinearReward(4), k=2))
    with pytest.raises(ValueError, match=r"^k must be"):
        sa.Session.load(path, lambda n_arms: sa.thompson(sa.LinearReward(n_arms), k=5))
    with pytest.raises(TypeError, match=r"^policy must be a Policy, .* returned NoneType$"):
        sa.Session.load(path, lambda n_arms: None)
    with pytest.raises(TypeError, match=r"^policy must be a Policy, .* got str$"):
        sa.Session.load(path, "thompson")


def test_versions(tmp_path, monkeypatch):
    path = tmp_path / "session"
    monkeypatch.setattr(files, "VERSION", 2)
    played().save(path)
    monkeypatch.setattr(files, "VERSION", 1)
    with pytest.raises(SessionFileError, match="version 2, this superarm reads up to 1"):
        sa.Session.load(path, policy())
    # The seam: a file of version 1 read by a superarm of version 3, by way of 2.
    monkeypatch.setattr(files, "VERSION", 1)
    played().save(path)
    monkeypatch.setattr(files, "VERSION", 3)
    steps = []
    migrations = {n: lambda document, n=n: steps.append(n) or document for n in (1, 2)}
    monkeypatch.setattr(files, "_MIGRATIONS", migrations)
    assert sa.Session.load(path, policy()).rounds == 12
    assert steps == [1, 2]


def test_every_older_version_has_a_migration():
    assert sorted(files._MIGRATIONS) == list(range(1, files.VERSION))


def test_not_a_session(tmp_path):
    body = b"no zip, but with the right checksum, sha256:"
    (tmp_path / "other").write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(SessionFileError, match="not a zip file"):
        sa.Session.load(tmp_path / "other", policy())
    with pytest.raises(FileNotFoundError):
        sa.Session.load(tmp_path / "none", policy())


def test_no_code_is_in_a_file(tmp_path):
    """An array of objects would have to be unpickled: it is refused."""
    played().save(tmp_path / "session")
    out, buffer = io.BytesIO(), io.BytesIO()
    np.save(out, np.array([print], object), allow_pickle=True)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "session.json",
            json.dumps({"format": "superarm session", "version": 1, "x": {"$npy": "x"}}),
        )
        archive.writestr("x.npy", out.getvalue())
        archive.comment = b"sha256:" + b"0" * 64
    body = buffer.getvalue()[:-64]
    (tmp_path / "evil").write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(SessionFileError, match="Object arrays cannot be loaded"):
        sa.Session.load(tmp_path / "evil", policy())


def test_a_draw_of_the_largest_alone_goes_on_bit_for_bit(tmp_path):
    """Enough arms for BetaBelief.sample_top to work with a level, which is part of the state."""

    def make(n_arms=5000):
        return sa.Policy(sa.BetaBelief(n_arms), sa.TopK(), sa.LinearReward(n_arms), 5)

    sessions = [sa.Session(make(), seed=3, clock=lambda: 0.0) for _ in range(2)]
    for t in range(120):
        one, other = (session.ask() for session in sessions)
        assert one == other
        assert one.values is not None
        for session in sessions:
            session.tell(one, {name: float((name + t) % 3 == 0) for name in one.arms})
        if t % 7 == 0:
            sessions[1].save(tmp_path / "session")
            sessions[1] = sa.Session.load(tmp_path / "session", make, clock=lambda: 0.0)
    assert session_state(sessions[0]._unlocked) == session_state(sessions[1]._unlocked)


def test_a_writer_killed_at_any_moment_leaves_a_whole_session(tmp_path):
    """A smaller number than `python tests/killing.py` has, for every run of the tests."""
    where = killing.kill_repeatedly(
        tmp_path / "session", kills=40, n_arms=300, rng=np.random.default_rng(1)
    )
    assert where.total() == 40


def test_a_snapshot_is_written_when_it_is_wanted(monkeypatch):
    """Thousands of open decisions take longer to write down than a decision may wait."""
    session = played()
    written, state = [], Record.state
    monkeypatch.setattr(Record, "state", lambda self: written.append(self) or state(self))
    snapshot = session.snapshot()
    assert not written
    assert snapshot() == session.to_bytes()
    assert len(written) == 24  # 12 decisions, twice


def test_a_snapshot_is_of_its_moment():
    """A snapshot does not contain changes that are made before it is written."""
    session = played(rewards=sa.LinearReward)
    session.fork("before")
    now, snapshot = session.to_bytes(), session.snapshot()
    session.add_arms(["new"])
    session.fork("later")
    session.retire("a")
    play(session, 3)
    assert snapshot() == now != session.to_bytes()


@pytest.mark.parametrize("k", [2, 70])
def test_short_decisions_are_written_as_if_each_was_looked_at(k, monkeypatch):
    """70 arms make long lists, which are arrays in the file."""
    session = sa.Session(sa.thompson(sa.LinearReward(80), k), seed=1)
    session.tell(session.ask(propensities=3), {})
    session.ask(3)
    quick = session.to_bytes()
    monkeypatch.setattr(files, "_may_be_long", lambda decision: True)
    assert session.to_bytes() == quick


@pytest.mark.parametrize("names", [[7 * n for n in range(100)], [*range(99), "last"]])
def test_many_numbers_as_names_come_back(names, tmp_path):
    """Long lists of numbers are arrays in a file, but not the names."""
    session = sa.Session(policy(100), names, seed=1, clock=lambda: 0.0)
    session.save(tmp_path / "session")
    again = sa.Session.load(tmp_path / "session", policy, clock=lambda: 0.0)
    assert list(again.names) == names
    assert again.ask() == session.ask()


def test_names_that_an_earlier_version_wrote_as_an_array_come_back(tmp_path):
    """It wrote what nobody could read again."""
    names = [7 * n for n in range(100)]
    document = sa.Session(policy(100), names, seed=1).to_bytes()
    document = files.decode(document, tmp_path)
    arrays = {}
    kept = files._without_arrays(names, "names", arrays)
    assert kept == {"$npy": "names"}
    buffer = io.BytesIO(files.encode({**document, "names": [0]}))
    with zipfile.ZipFile(buffer) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    out = io.BytesIO()
    np.lib.format.write_array(out, arrays["names"])
    members |= {"names.json": json.dumps(kept).encode(), "names.npy": out.getvalue()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = b"sha256:" + b"0" * 64
    body = buffer.getvalue()[:-64]
    data = body + hashlib.sha256(body).hexdigest().encode()
    assert list(sa.Session.from_bytes(data, policy).names) == names


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7])
def test_a_list_in_portions_is_the_same_text(n, monkeypatch):
    monkeypatch.setattr(files, "_MEMBERS_AT_ONCE", 3)
    names = ["a", 'b"', "ü", 4, "e,", "[f]", "g"][:n]
    assert files._list_text(names) == json.dumps(names, ensure_ascii=False)


@pytest.mark.parametrize(
    "belief", [sa.BetaBelief(80), sa.BetaBelief(80, (np.full(80, 2.0), 1.0)), None]
)
def test_a_snapshot_with_arrays_is_the_file_of_plain_numbers(belief):
    """Lists of numbers take long to make, and the file has arrays in the end."""
    made = sa.thompson(sa.LinearReward(80), 3)
    if belief is not None:
        made = sa.Policy(belief, sa.TopK(), sa.LinearReward(80), 3)
    session = sa.Session(made, [f"arm {n}" for n in range(80)], seed=1)
    for n in range(9):
        decision = session.ask()
        session.tell(decision, dict.fromkeys(decision.arms, n % 3 / 2))
    plain = session_state(session._unlocked)
    json.dumps(plain, allow_nan=False)
    assert session.to_bytes() == files.encode(plain)


if __name__ == "__main__":
    write_fixture()
    fresh = sa.Session.load(FIXTURE, policy, clock=lambda: 0.0)
    golden = {"decisions": [[decision.id, sorted(decision.arms)] for decision in play(fresh, 10)]}
    FIXTURE.with_suffix(".json").write_text(
        json.dumps({**golden, "a": fresh.policy.belief.a.tolist()}, indent=1)
    )
