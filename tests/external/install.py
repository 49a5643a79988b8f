"""Installs the servers into a cache of the project: `python -m tests.external.install`; says what could not be had.

etcd, Radicale and Kinto are packages of Python, pinned. Redis is unpacked from the packages of a Debian system, not
installed. PostgreSQL comes with the packages of the tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from takeback_lab.servers import CACHE, NotToBeHad, find_program

WANTED = Path(__file__).parents[2] / "requirements" / "servers.txt"
DEBS = (
    "redis-server",
    "redis-tools",
    "libjemalloc2",
    "liblzf1",
    "liblua5.1-0",
    "lua-bitop",
    "lua-cjson",
    "libatomic1",
)
SECONDS = 900


def is_there(program: str) -> bool:
    """Tell whether a server's program is here."""
    try:
        find_program(program)
    except NotToBeHad:
        return False
    return True


def run(*words: str, cwd: Path | None = None) -> str | None:
    """Run a command; return why it failed, None if it did not."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS, cwd=cwd)
    except (OSError, subprocess.TimeoutExpired) as fault:
        return f"{words[0]}: {type(fault).__name__}"
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no word"]
    return said[0][:120] if done.returncode else None


def install_packages() -> str:
    """Install etcd, Radicale and Kinto."""
    if all(map(is_there, ("etcd", "radicale", "kinto"))):
        return "etcd, radicale, kinto: there already"
    why = None if (CACHE / "bin" / "python").exists() else run(sys.executable, "-m", "venv", str(CACHE))
    pip = (str(CACHE / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    why = why or run(*pip, "-r", str(WANTED))
    return f"etcd, radicale, kinto: left out, {why}" if why else "etcd, radicale, kinto: installed"


def install_redis() -> str:
    """Unpack Redis."""
    if is_there("redis-server"):
        return "redis: there already"
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return "redis: left out, this is no Debian system"
    debs = CACHE / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    why = run("apt-get", "download", *DEBS, cwd=debs)
    for deb in sorted(debs.glob("*.deb")) if why is None else ():
        why = why or run("dpkg", "-x", str(deb), str(CACHE / "root"))
    return f"redis: left out, {why}" if why else "redis: unpacked"


if __name__ == "__main__":
    for install in (install_packages, install_redis):
        sys.stdout.write(install() + "\n")
