"""Bundles: anybody checks offline, with a script of its own, that records stand under a signed head."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.govern.merkle import Frontier, MerkleTree, is_continuation

SCRIPT = Path(__file__).parents[3] / "examples" / "verify_bundle.py"
SECRET = "q8Zr1LmX0vTb5NwKd7PfGh3J"
CAPTURED = "captured-value-0815"


def load_script():
    spec = importlib.util.spec_from_file_location("verify_bundle", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()


def make_roots(count):
    """Return the root after each number of leaves, kept leaf by leaf."""
    frontier = Frontier()
    roots = [frontier.root()]
    for at in range(count):
        frontier.add(bytes([at]))
        roots.append(frontier.root())
    return roots


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 31, 33])
def test_an_inclusion_proof_holds_only_for_its_leaf(size):
    tree = MerkleTree(bytes([at]) for at in range(size))
    root = make_roots(size)[size]
    assert tree.root() == root
    for index in range(size):
        proof = tree.prove_inclusion(index)
        assert script.compute_root(bytes([index]), index, size, proof) == root
        assert size == 1 or script.compute_root(bytes([index + 1]), index, size, proof) != root


def test_a_consistency_proof_holds_only_for_true_prefixes():
    roots = make_roots(40)
    for size in range(1, 41):
        tree = MerkleTree(bytes([at]) for at in range(size))
        for old in range(size + 1):
            proof = tree.prove_consistency(old)
            assert is_continuation((old, roots[old]), (size, roots[size]), proof)
            if 0 < old < size:
                assert not is_continuation((old, roots[old - 1]), (size, roots[size]), proof)
                assert not is_continuation((old, roots[old]), (size, roots[size - 1]), proof)
                assert not is_continuation((old, roots[old]), (size, roots[size]), [*proof, proof[0]])
                assert not is_continuation((old, roots[old]), (size, roots[size]), proof[:-1])
        assert not is_continuation((size, roots[size]), (size - 1, roots[size - 1]), [])


def test_the_script_and_the_library_agree_on_signatures():
    rng = random.Random(27)
    for _ in range(8):
        key = Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        public, text = key.public_key().public_bytes_raw(), rng.randbytes(rng.randrange(200))
        signature = key.sign(text)
        assert script.is_signed(public, text, signature)
        for _ in range(4):
            at = rng.randrange(64)
            changed = signature[:at] + bytes([signature[at] ^ 1 << rng.randrange(8)]) + signature[at + 1 :]
            with pytest.raises(InvalidSignature):
                key.public_key().verify(changed, text)
            assert not script.is_signed(public, text, changed)
        assert not script.is_signed(public, text + b".", signature)


def test_a_signature_with_an_unreduced_scalar_is_refused():
    key = Ed25519PrivateKey.generate()
    signature = key.sign(b"text")
    more = int.from_bytes(signature[32:], "little") + script.ORDER
    assert not script.is_signed(
        key.public_key().public_bytes_raw(), b"text", signature[:32] + more.to_bytes(32, "little")
    )


def test_the_script_imports_only_the_standard_library():
    tree = ast.parse(SCRIPT.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "CLAUDE.md").write_text("one\n")
    init_clients(root, ("claude-code",))
    with closing(open_workspace(root)) as harness:
        for text, note in ((f"one\n{CAPTURED}\n", ""), ("one\n", f"api_key={SECRET}"), ("two\n", "plain")):
            (root / "CLAUDE.md").write_text(text)
            assert harness.adopt(note=note) is not None
    return root


def export(root, target, *words):
    arguments = ["export", "--bundle", str(target), "--sign", str(root.parent / "sign.key"), "-C", str(root)]
    return CliRunner().invoke(app, [*arguments, *words, "--json"])


def verify(target, key, *words):
    """Run the script as a third party does, with nothing of Takeback to be imported."""
    command = [sys.executable, "-I", str(SCRIPT), str(target), key, *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, cwd=target.parent)


def test_a_bundle_is_verified_with_only_python(root, tmp_path):
    answer = export(root, tmp_path / "b.jsonl")
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    done = verify(tmp_path / "b.jsonl", told["key"], "--whole")
    assert (done.returncode, done.stdout[:3]) == (0, "ok:"), done.stdout
    assert f"{told['records']} of {told['size']} records" in done.stdout
    target = tmp_path / "b.jsonl"
    target.write_text(target.read_text().replace("plain", "plane"))
    done = verify(target, told["key"])
    assert (done.returncode, done.stdout.split(":")[0]) == (1, "record")


def test_a_bundle_has_no_contents_and_only_digests_of_secret_records(root, tmp_path):
    told = json.loads(export(root, tmp_path / "b.jsonl").stdout)
    text = (tmp_path / "b.jsonl").read_text()
    assert len(told["withheld"]) == 1
    assert SECRET not in text
    assert CAPTURED not in text
    assert verify(tmp_path / "b.jsonl", told["key"], "--whole").returncode == 0
    told = json.loads(export(root, tmp_path / "c.jsonl", "--reveal").stdout)
    assert told["withheld"] == []
    assert SECRET in (tmp_path / "c.jsonl").read_text()
    assert CAPTURED not in (tmp_path / "c.jsonl").read_text()
    assert verify(tmp_path / "c.jsonl", told["key"], "--whole").returncode == 0


def test_a_bundle_of_chosen_entries_states_its_share(root, tmp_path):
    told = json.loads(export(root, tmp_path / "b.jsonl", "--entry", "2", "--entry", "HEAD").stdout)
    assert told["records"] == 2 < told["size"]
    done = verify(tmp_path / "b.jsonl", told["key"])
    assert f"2 of {told['size']} records" in done.stdout
    assert verify(tmp_path / "b.jsonl", told["key"], "--whole").stdout.startswith("missing")


def test_a_bundle_replaces_no_file_and_needs_a_key(root, tmp_path):
    target = tmp_path / "b.jsonl"
    target.write_text("mine")
    assert export(root, target).exit_code != 0
    assert target.read_text() == "mine"
    for words in (["--bundle", str(tmp_path / "n")], ["--sign", str(tmp_path / "k")], ["--entry", "2"]):
        assert CliRunner().invoke(app, ["export", *words, "-C", str(root)]).exit_code != 0
    assert not (tmp_path / "n").exists()
