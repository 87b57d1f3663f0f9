"""A PostgreSQL server for tests, in a temporary folder, on a socket."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _program(name):
    found = shutil.which(
        name, path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, _FOLDERS)])
    )
    return found and str(Path(found).resolve())


def _user():
    """The user that runs PostgreSQL, which refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user for user in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


@contextlib.contextmanager
def running():
    """The address of a server that ends with the block."""
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("no PostgreSQL is installed")
    folder = Path(
        tempfile.mkdtemp(prefix="superarm-pg-", dir="/tmp")
    )  # a socket's path must be short
    try:
        user = _user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        _run(
            [
                initdb,
                "-D",
                str(data),
                "-U",
                "superarm",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
            ],
            user,
        )
        options = f"-k {folder} -c listen_addresses='' -c fsync=on -c max_connections=60"
        _run(
            [pg_ctl, "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start"], user
        )
        try:
            yield f"postgresql://superarm@/postgres?host={quote(str(folder), safe='')}"
        finally:
            _run([pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop"], user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def call(program, *args):
    """Run a program beside initdb. A program found by name may be a wrapper that needs its name."""
    found = Path(_program("initdb")).with_name(program)
    if not found.exists():
        pytest.skip(f"no {program} is installed")
    _run([str(found), *args], None)


def _run(command, user):
    as_user = (
        {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/", **as_user)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
