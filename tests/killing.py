"""Kill the writer of a session file at random moments; a complete session must always exist.

    python tests/killing.py [--kills N] [--arms N]

A child process saves a session in a loop, one round later each time, and is killed with SIGKILL
after a random time. Then the file must load, and must not be older than any state that was loaded
or reported as saved before. A page of memory shared with the child shows in which system call it
was killed, so that the moments are known to be spread.
"""

from __future__ import annotations

import argparse
import collections
import mmap
import os
import signal
import struct
import tempfile
import time
from pathlib import Path

import numpy as np

import superarm as sa
from superarm.sessions import files

CALLS = ("between saves", "write", "fsync", "link", "replace")


def make(n_arms):
    return sa.Policy(sa.BetaBelief(n_arms), sa.TopK(), sa.LinearReward(n_arms), 3)


def play(session):
    decision = session.ask()
    session.tell(decision, dict.fromkeys(decision.arms, 1.0))


def watched(page):
    """Make every system call that changes a file record itself in the shared page."""

    def wrap(call, number):
        def before(*args, **options):
            page[0] = number
            return call(*args, **options)

        return before

    os.fsync, os.link, os.replace = wrap(os.fsync, 2), wrap(os.link, 3), wrap(os.replace, 4)
    write = files.write

    def whole(path, data):
        page[0] = 1
        write(path, data)
        page[0] = 0

    files.write = whole


def child(path, n_arms, page):
    watched(page)
    session = sa.Session.load(path, make(n_arms))
    while True:
        play(session)
        session.save(path)
        page[8:16] = struct.pack("q", session.rounds)


def kill_repeatedly(path, *, kills, n_arms, rng):
    """Counts the kills by system call. Raises if a file does not load, or is too old."""
    session = sa.Session(make(n_arms), seed=0, keep=10)
    session.save(path)
    start = time.perf_counter()
    session.save(path)
    save_s = time.perf_counter() - start
    page, known, where = mmap.mmap(-1, mmap.PAGESIZE), session.rounds, collections.Counter()
    for _ in range(kills):
        page[0:1], page[8:16] = b"\0", struct.pack("q", known)
        pid = os.fork()
        if pid == 0:
            try:
                child(path, n_arms, page)
            finally:
                os._exit(1)
        deadline = time.monotonic() + 60
        while struct.unpack("q", page[8:16])[0] == known:  # until it has saved once
            if time.monotonic() > deadline:
                raise RuntimeError("the writer does not write")
            time.sleep(1e-4)
        time.sleep(rng.uniform(0, 3 * save_s))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        where[CALLS[page[0]]] += 1
        reported = struct.unpack("q", page[8:16])[0]
        rounds = sa.Session.load(path, make(n_arms)).rounds
        if rounds not in (reported, reported + 1):
            raise AssertionError(f"{reported} rounds were saved, and {rounds} are there")
        before = sa.Session.load(files.previous(path), make(n_arms)).rounds
        if before not in (rounds - 1, rounds):
            raise AssertionError(f"the file has {rounds} rounds, and the one before it {before}")
        known = rounds
    return where


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--arms", type=int, default=2000)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the file is; a temporary folder by default"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rng = np.random.default_rng(0)
        path = Path(folder) / "session"
        where = kill_repeatedly(path, kills=options.kills, n_arms=options.arms, rng=rng)
    print(f"{options.kills} kills, {options.arms} arms: a whole session was there every time")
    for call in CALLS:
        print(f"  {where[call]:5} {'' if call == CALLS[0] else 'in a save, since '}{call}")


if __name__ == "__main__":
    main()
