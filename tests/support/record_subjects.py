"""Subjects for the conformance suite of bindings, from the settings of a place."""

from __future__ import annotations

from takeback.adapters.bindings import open_binding
from takeback.adapters.bindings.conformance import BindingSubject
from takeback.adapters.bindings.probe import WRITERS, WRITES
from takeback_lab.servers import EVENT

DEAD = {"sql": "sqlite:////nowhere/at/all.db", "http": "http://127.0.0.1:1/", "etcd": "http://127.0.0.1:1"}
DEAD["redis"] = "redis://127.0.0.1:1/0"


def make_subject(settings, guard="atomic", race=(WRITERS, WRITES)):
    """Return the subject of a place: a row, an event of a calendar, or a record of fields."""

    def make_row(_, number):
        return {"text": f"snöw ☃ 😀 {number}", "weight": 2**40 + number}

    def make_event(name, number):
        return {"text": EVENT.format(uid=name, n=number).replace("\n", "\r\n")}

    def make_prompt(_, number):
        return {"text": f"snöw ☃ {number}", "alias": number, "tags": ["a", {"b": None, "c": [1.5, True]}]}

    kind, text = settings["kind"], settings.get("format") == "text"
    make = make_row if kind == "sql" else make_event if text else make_prompt
    return BindingSubject(
        open=lambda: open_binding("place", settings),
        make_record=make,
        ours="text",
        theirs=None if text else "theirs",
        guard=guard,
        race=race,
        open_dead=lambda: open_binding("dead", make_dead(settings)),
    )


def make_dead(settings):
    """Return the settings with another address, where nothing answers."""
    if settings["kind"] == "sql":
        return {**settings, "url_env": "NOWHERE_DB"}
    return {**settings, "base": DEAD[settings["kind"]]}
