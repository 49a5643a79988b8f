"""A witness keeps the last head of a journal, and refuses any that does not continue it."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import closing

import pytest
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.errors import HarnessError, InputError
from takeback.govern.heads import Head, HeadError, build_tree, format_public_key, load_or_make_key, sign_head
from takeback.govern.merkle import MerkleTree
from takeback.govern.witness import MOST_BODY, HeadWitness, WitnessServer, load_or_make_token, submit_head

ORIGIN = "example.org/agent"


@pytest.fixture
def key(tmp_path):
    return load_or_make_key(tmp_path / "sign.key")


@pytest.fixture
def server(tmp_path, key):
    folder = tmp_path / "heads"
    folder.mkdir()
    witness = HeadWitness(folder, [format_public_key(ORIGIN, key.public_key().public_bytes_raw())])
    with WitnessServer(witness, load_or_make_token(folder / "token")) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join(240)


def make_tree(count, mark=b""):
    return MerkleTree(mark + bytes([at]) for at in range(count))


def note_of(tree, key, origin=ORIGIN):
    return sign_head(Head(origin, tree.size, tree.root()), key)


def submit(server, tree, key):
    return submit_head(server.url, server.token, note_of(tree, key), tree)


def test_continuing_heads_are_accepted_in_turn(server, key):
    assert submit(server, make_tree(3), key) == 0
    assert submit(server, make_tree(11), key) == 3
    assert submit(server, make_tree(11), key) == 11
    assert submit(server, make_tree(12), key) == 11


@pytest.mark.parametrize(("count", "mark"), [(20, b"x"), (11, b"x"), (10, b""), (3, b"x")])
def test_another_history_and_a_shorter_one_are_refused(server, key, count, mark):
    submit(server, make_tree(11), key)
    with pytest.raises(HarnessError, match=r"409|422"):
        submit(server, make_tree(count, mark), key)
    assert submit(server, make_tree(12), key) == 11


def post(server, body, path="/add-checkpoint", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=240)
    with closing(connection):
        data = body.encode() if isinstance(body, str) else body
        connection.request("POST", path, data, {"Authorization": f"Bearer {server.token}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_a_proof_that_does_not_hold_is_refused_and_nothing_is_kept(server, key):
    submit(server, make_tree(5), key)
    note = note_of(make_tree(9), key)
    assert post(server, f"old 5\n\n{note}")[0] == 422
    assert post(server, f"old 5\n{'A' * 43}=\n\n{note}")[0] == 422
    assert post(server, f"old 0\n\n{note}") == (409, "5\n")
    assert submit(server, make_tree(9), key) == 5


def test_requests_without_a_token_or_from_a_page_are_refused(server, key):
    body = f"old 0\n\n{note_of(make_tree(2), key)}"
    assert post(server, body, Authorization="Bearer other")[0] == 401
    assert post(server, body, Authorization="")[0] == 401
    assert post(server, body, Host="example.org")[0] == 421
    assert post(server, body, Origin="http://127.0.0.1")[0] == 421
    assert post(server, body, path="/other")[0] == 404
    assert submit(server, make_tree(2), key) == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"\xff", 400),
        (b"old -1\n\nx", 400),
        (b"old 99999999999999999999\n\nx", 400),
        (b"old 0\n*\n\nx", 400),
        (b"old 0\n" + b"A" * 43 + b"=\n" * 70 + b"\nx", 400),
        (b"old 0\n\nunknown/origin\n1\nx\n", 404),
        (b"old 0\n\nexample.org/agent\n1\nx\n", 403),
        (b"x" * (MOST_BODY + 1), 413),
    ],
)
def test_malformed_requests_are_refused(server, body, status):
    assert post(server, body)[0] == status


def test_a_head_by_another_key_is_refused(server, tmp_path):
    other = load_or_make_key(tmp_path / "other.key")
    with pytest.raises(HarnessError, match="403"):
        submit(server, make_tree(2), other)


def test_a_kept_head_that_was_tampered_with_stops_the_witness(server, key, tmp_path):
    submit(server, make_tree(5), key)
    (kept,) = (tmp_path / "heads").glob("*.head")
    kept.write_text(kept.read_text().replace("\n5\n", "\n4\n"))
    with pytest.raises(HarnessError, match="500"):
        submit(server, make_tree(9), key)


def test_the_witness_listens_on_loopback_and_heads_go_nowhere_else(server):
    assert server.server_address[0] == "127.0.0.1"
    for url in (
        "http://example.org:80",
        "https://127.0.0.1:1",
        "http://127.0.0.1:1@example.org",
        "http://127.0.0.1:x",
    ):
        with pytest.raises(InputError):
            submit_head(url, "t", "", make_tree(1))


def test_a_witness_needs_a_valid_key(tmp_path):
    with pytest.raises(HeadError):
        HeadWitness(tmp_path, ["nonsense"])


def test_the_command_head_gives_heads_to_a_witness(tmp_path, server, key):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "CLAUDE.md").write_text("one\n")
    init_clients(root, ("claude-code",))
    words = ["head", "--sign", str(tmp_path / "sign.key"), "--origin", ORIGIN, "-C", str(root), "--json"]
    words += ["--witness", server.url, "--token-file", str(tmp_path / "heads" / "token")]
    first = json.loads(CliRunner().invoke(app, words).stdout)
    assert first["witness"]["before"] == 0
    (root / "CLAUDE.md").write_text("two\n")
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        size = build_tree(harness.journal).size
    second = json.loads(CliRunner().invoke(app, words).stdout)
    assert second["witness"]["before"] == first["size"] < second["size"] == size
