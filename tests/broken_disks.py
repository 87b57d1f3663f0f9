"""Commands that run a program on a broken disk. Users other than root need user namespaces."""

import functools
import os
import subprocess

import pytest


def _unshared(script, *args):
    spaces = ["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]
    return [
        "unshare",
        *spaces,
        "sh",
        "-ec",
        f'{script}; shift {len(args)}; exec "$@"',
        "sh",
        *map(str, args),
    ]


def small(folder, size):
    """The folder is a disk of the given size while the program runs."""
    _need_mounts()
    return _unshared('mount -t tmpfs -o "size=$2" tmpfs "$1"', folder, size)


def read_only(folder):
    """The folder and its files cannot be written."""
    _need_mounts()
    return _unshared('mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"', folder)


def small_files(size):
    """No file can grow beyond ``size`` bytes. Any user may run this."""
    return ["sh", "-ec", f'ulimit -f {size // 512}; exec "$@"', "sh"]


@functools.cache
def _can_mount():
    done = subprocess.run([*_unshared("mount -t tmpfs tmpfs /mnt"), "true"], capture_output=True)
    return done.returncode == 0


def _need_mounts():
    if not _can_mount():
        pytest.skip("mounts in a user namespace are not allowed here")
