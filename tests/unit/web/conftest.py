"""A page on a harness in memory, asked as the session's own browser would."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient
from tests.support.changes import candidate, config, prompt, routing

from takeback.adapters import open_memory
from takeback.state import State
from takeback.web.security import FORM, Session
from takeback.web.server import make_app
from takeback.web.shelf import HarnessShelf

HOST = "127.0.0.1:8765"
BASE = f"http://{HOST}"
START = {"config": {"timeout": 30}, "prompts": {"system": "Be careful.\nBe brief.\n"}}


class Browser:
    """A browser that has opened the link."""

    def __init__(self, *harnesses, read_only=False, where=""):
        named = [(f"agent-{number}", harness) for number, harness in enumerate(harnesses, 1)]
        self.shelf = HarnessShelf(named, places={name: where for name, _ in named})
        self.session = Session()
        self.app = make_app(self.shelf, self.session, [HOST, "localhost:8765"], read_only=read_only)
        self.stranger = TestClient(self.app, base_url=BASE, follow_redirects=False)
        self.client = TestClient(self.app, base_url=BASE, follow_redirects=True)
        self.client.get(f"/open?link={self.session.link}")

    def get(self, path, **more):
        return self.client.get(path, **more)

    def post(self, path, fields, *, token=True, **headers):
        fields = {**fields, **({"form_token": self.session.form_token} if token else {})}
        return self.client.post(path, data=fields, headers={"origin": BASE, "content-type": FORM, **headers})


def harness_with(*changes, start=START):
    harness = open_memory(State.read(start))
    for note, by, *ops in changes:
        assert harness.apply(candidate(*ops), note=note, by=by).entry
    return harness


def words(answer):
    """The text of a page without its markup, in one line."""
    body = re.sub(r"<[^>]+>", " ", answer.text)
    for entity, character in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        body = body.replace(entity, character)
    return " ".join(body.split())


@pytest.fixture
def three():
    """Three changes; the first and the last are of one slot."""
    harness = harness_with(
        ("slower", "ann", config("timeout", 60)),
        ("cheaper", "bot", routing("main", "small-1")),
        ("slowest", "ann", config("timeout", 90), prompt("system", "Be careful.\n")),
    )
    with harness:
        yield harness


@pytest.fixture
def browser(three):
    return Browser(three)
