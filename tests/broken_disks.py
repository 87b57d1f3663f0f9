"""Functions that break the disk of the process that calls them, before a server runs in it.

Users other than root need user namespaces for the functions that mount.
"""

import ctypes
import functools
import os
import resource
import subprocess
from pathlib import Path

import pytest

# Flags of unshare(2).
_NEW_MOUNTS, _NEW_USER = 0x0002_0000, 0x1000_0000


def small(folder, size):
    """The folder is a disk of the given size while the process runs."""
    _need_mounts()
    return functools.partial(_mount, ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)])


def read_only(folder):
    """The folder and its files cannot be written."""
    _need_mounts()
    bind, remount = ["--bind", str(folder)], ["-o", "remount,bind,ro"]
    return functools.partial(_mount, [*bind, str(folder)], [*remount, str(folder)])


def small_files(size):
    """No file can grow beyond ``size`` bytes. Any user may run this."""
    return functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))


def _mount(*mounts):
    """Mount for this process and its children only."""
    _unshare()
    for options in (["--make-rprivate", "/"], *mounts):
        subprocess.run(["mount", *options], check=True)


def _unshare():
    """Give this process its own mounts. A user other than root becomes root of a namespace."""
    user, group = os.geteuid(), os.getegid()
    flags = _NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")
    if user != 0:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")  # the kernel wants this before gid_map
        (own / "uid_map").write_text(f"0 {user} 1")
        (own / "gid_map").write_text(f"0 {group} 1")


@functools.cache
def _can_mount():
    spaces = ["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]
    command = ["unshare", *spaces, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _need_mounts():
    if not _can_mount():
        pytest.skip("mounts in a user namespace are not allowed here")
