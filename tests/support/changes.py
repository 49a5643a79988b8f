"""Short ways to write changes in tests of undo and of harnesses."""

from __future__ import annotations

from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage


def config(target, value):
    return {"op_type": "set_config", "target": target, "value": value}


def prompt(target, value):
    return {"op_type": "set_prompt", "target": target, "value": value}


def routing(target, value):
    return {"op_type": "set_routing", "target": target, "value": value}


def tool(target, name="t"):
    return {"op_type": "register_tool", "target": target, "value": {"id": name}}


def middleware(target, **spot):
    return {"op_type": "add_middleware", "target": target, "value": {"handler": f"mw.{target}"}, **spot}


def listener(event, name, handler="h"):
    return {"op_type": "add_listener", "target": event, "value": {"id": name, "handler": handler}}


def file(target, content, **more):
    return {"op_type": "write_file", "target": target, "value": {"content": content, **more}}


def socket(target, port):
    return {"op_type": "allocate_socket", "target": target, "value": {"address": f"tcp://127.0.0.1:{port}"}}


def mutation(*ops):
    return read_program(list(ops), Stage.FORWARD, "test")


def candidate(*ops):
    """The change with the oracle's recovery."""
    return invert_mutation(mutation(*ops))
