"""Real disks that fail: a small one that can be filled, and directories nobody may write to."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def small_disk(place, size="1m"):
    """A file system of its own; skips where it cannot be mounted."""
    place.mkdir(exist_ok=True)
    mount = shutil.which("mount")
    done = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not done or done.returncode:
        pytest.skip("no file system of its own can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(place, leave=0):
    """Fill a disk to the last byte, or leave some."""
    with open(place / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    if leave:
        os.truncate(place / "filler", os.path.getsize(place / "filler") - leave)


@contextmanager
def immutable(directory):
    """A directory in which nothing can be made, not even by root; skips where the file system has no such flag."""
    chattr = shutil.which("chattr")
    if not chattr or subprocess.run([chattr, "+i", str(directory)], capture_output=True, check=False).returncode:
        pytest.skip("no immutable directories here")
    try:
        yield
    finally:
        subprocess.run([chattr, "-i", str(directory)], check=True)
