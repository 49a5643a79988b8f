"""Installs the real clients, pinned, into a cache of the project: `python -m tests.clients.install codex`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "claude-code": ("@anthropic-ai/claude-code", "2.1.325", "claude"),
    "codex": ("@openai/codex", "0.166.0", "codex"),
    "opencode": ("opencode-ai", "1.18.33", "opencode"),
    "gemini": ("@google/gemini-cli", "0.61.0", "gemini"),
    "copilot": ("@github/copilot", "1.0.102", "copilot"),
    "qwen": ("@qwen-code/qwen-code", "0.24.4", "qwen"),
    "cline": ("cline", "3.0.65", "cline"),
    "kilo": ("@kilocode/cli-linux-x64", "7.7.9", "kilo"),
}
BESIDE = {"qwen": "node@22.23.3", "cline": "node@22.23.3"}
"""What a client needs besides: it asks for a newer Node than many machines have."""
CACHE = Path(__file__).parents[2] / ".cache" / "clients"
SECONDS = 900


def program(client: str) -> Path | None:
    """The client's program, if it is installed."""
    package, _, name = PACKAGES[client]
    modules = CACHE / client / "node_modules"
    return next((one for one in (modules / ".bin" / name, modules / package / "bin" / name) if one.exists()), None)


def install(client: str) -> str:
    """Install one client, unless it is there; says what became of it."""
    package, version, _ = PACKAGES[client]
    if program(client) is not None:
        return f"{client} {version}: there already"
    npm = shutil.which("npm")
    if npm is None:
        return f"{client}: left out, there is no npm on this machine"
    place = CACHE / client
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n')
    command = [
        npm,
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel=error",
        f"{package}@{version}",
        *([BESIDE[client]] if client in BESIDE else []),
    ]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"{client}: left out, npm took longer than {SECONDS} s"
    if done.returncode or program(client) is None:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no word"]
        return f"{client}: left out, npm could not install it ({last[0][:120]})"
    return f"{client} {version}: installed"


if __name__ == "__main__":
    for name in sys.argv[1:] or ["claude-code", "codex"]:
        sys.stdout.write(install(name) + "\n")
