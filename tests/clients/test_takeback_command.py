"""`/takeback` in the real Gemini CLI and opencode: what was typed reaches the model with our text, and is done."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.clients.conftest import Place, make_place
from tests.clients.conversations import install_takeback
from tests.clients.models import gemini_server
from tests.clients.test_gemini import FILES as GEMINI
from tests.clients.test_opencode import FILES as OPENCODE

ASKED = "what was typed behind it:"
TO_DO = "for exactly those numbers"


def change_twice(place: Place) -> str:
    """Record two changes; return the command that takes the first back."""
    numbers = []
    with closing(place.opened()) as harness:
        for line in ("- Be brief.\n", "- Be kind.\n"):
            with (place.root / next(path for path in place.files() if path.endswith(".md"))).open("a") as file:
                file.write(line)
            found: Any = harness.adopt()
            numbers.append(found.entry.entry)
    return f"{sys.executable} -m takeback undo {numbers[0]}"


def test_gemini_has_the_takeback_command(tmp_path: Path) -> None:
    place = make_place("gemini", GEMINI, tmp_path)
    (place.home / ".gemini").mkdir()
    (place.home / ".gemini/trustedFolders.json").write_text(json.dumps({str(place.root): "TRUST_FOLDER"}))
    (place.home / ".gemini/settings.json").write_text('{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    install_takeback(place)
    undo = change_twice(place)
    script = [[{"functionCall": {"name": "run_shell_command", "args": {"command": undo}}}], [{"text": "done"}]]
    with gemini_server(script) as server:
        place.env |= {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": server.url}
        place.run(
            "-p", "/takeback 3", "-o", "stream-json", "--approval-mode", "yolo", "-m", "gemini-2.5-pro", seconds=300
        )
        told = json.dumps(server.requests)
    require_carried_out(place, told)


def test_opencode_has_the_takeback_command(tmp_path: Path) -> None:
    place = make_place("opencode", OPENCODE, tmp_path)
    place.env |= {"OPENCODE_PURE": "1"}
    install_takeback(place)
    command = json.loads(place.run("debug", "config"))["command"]["takeback"]
    assert f"{ASKED} $ARGUMENTS" in command["template"]
    assert TO_DO in command["template"]
    assert command["description"]


def require_carried_out(place: Place, told: str) -> None:
    """Demand that the model was told what to do with which number, and that the first of two changes is gone."""
    assert f"{ASKED} 3" in told
    assert TO_DO in told
    texts = [text for text, _ in place.files().values()]
    assert any(b"- Be kind.\n" in text for text in texts)
    assert not any(b"- Be brief.\n" in text for text in texts)
