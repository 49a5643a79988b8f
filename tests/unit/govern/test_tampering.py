"""Whatever is tampered with in records, heads and bundles is refused, each kind by its name."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from takeback.govern.heads import (
    HeadError,
    build_tree,
    format_public_key,
    load_or_make_key,
    make_head,
    open_head,
    require_continuation,
    sign_head,
    write_bundle,
)
from takeback.govern.merkle import MerkleTree, hash_leaf
from takeback.journal import Draft, examine_journal, open_journal
from takeback.journal.content import make_leaf
from takeback.journal.record import digest_columns

ORIGIN = "example.org/agent"
SCRIPT = Path(__file__).parents[3] / "examples" / "verify_bundle.py"


def load_script():
    spec = importlib.util.spec_from_file_location("verify_bundle", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()


@pytest.fixture
def place(tmp_path):
    where = tmp_path / "journal.db"
    with closing(open_journal(where)) as store:
        for at in range(6):
            kind = "genesis" if at == 0 else "apply"
            draft = Draft(kind, {"touches": [f"config/{at}"], "note": f"n{at}"}, {"after": make_leaf(at, f"c{at}")})
            store.append([draft])
            store.append([Draft("commit", {"entry": at + 1})])
    return where


@pytest.fixture
def key(tmp_path):
    return load_or_make_key(tmp_path / "sign.key")


@pytest.fixture
def public(key):
    return format_public_key(ORIGIN, key.public_key().public_bytes_raw())


@pytest.fixture
def note(place, key):
    with closing(open_journal(place, readonly=True)) as store:
        return sign_head(make_head(store, ORIGIN), key)


# records


def change(column, value, seq=5):
    return lambda database: database.execute(f"UPDATE records SET {column} = ? WHERE seq = ?", (value, seq))


def rehash(database, start, stop=None):
    """Give records digests that fit again, and let each name the one before it, as somebody who rewrites would."""
    names = "seq, entry, kind, created_at, payload, contents, touched, prev"
    rows = database.execute(
        f"SELECT {names}, digest FROM records WHERE seq >= ? ORDER BY seq", (start - 1,)
    ).fetchall()
    prev = rows[0][8]
    for row in rows[1:] if stop is None else rows[1 : stop - start + 2]:
        digest = digest_columns(*row[:7], prev)
        database.execute("UPDATE records SET prev = ?, digest = ? WHERE seq = ?", (prev, digest, row[0]))
        prev = digest


def rewrite(column, value, seq=5, stop=None):
    def tamper(database):
        change(column, value, seq)(database)
        rehash(database, seq, stop)

    return tamper


def swap(database):
    for old, new in ((5, 99), (6, 5), (99, 6)):
        database.execute("UPDATE records SET seq = ? WHERE seq = ?", (new, old))


def run(*statements):
    def tamper(database):
        for statement in statements:
            database.execute(statement)

    return tamper


COPY = "INSERT INTO records SELECT 13, NULL, kind, created_at, payload, contents, touched, prev, 'x' FROM records"
RECORDS = {
    "number in the chain": ("record 5 missing", change("seq", 50)),
    "number of the entry": ("does not match its digest", change("entry", 30)),
    "kind": ("does not match its digest", change("kind", "undo")),
    "time": ("does not match its digest", change("created_at", "2020-01-01T00:00:00+00:00")),
    "payload": ("does not match its digest", change("payload", '{"note":"other"}')),
    "ids of contents": ("does not match its digest", change("contents", "{}")),
    "digest of the index": ("does not match its digest", change("touched", "0" * 64)),
    "record before it": ("does not match its digest", change("prev", "0" * 64)),
    "its own digest": ("does not match its digest", change("digest", "0" * 64)),
    "column of another type": ("holds no such value", change("payload", b"\0")),
    "record rewritten alone": ("record 6 follows", rewrite("created_at", "2020", stop=5)),
    "record rewritten with all after it": ("root", rewrite("created_at", "2020-01-01T00:00:00+00:00")),
    "last record rewritten": ("root", rewrite("created_at", "2020-01-01T00:00:00+00:00", seq=12)),
    "rewritten to no known kind": ("unknown kind", rewrite("kind", "other")),
    "rewritten out of turn": ("not its turn", rewrite("entry", 40)),
    "record removed": ("record 5 missing", run("DELETE FROM records WHERE seq = 5")),
    "first record removed": ("record 1 missing", run("DELETE FROM records WHERE seq = 1")),
    "last record removed": ("shorter", run("DELETE FROM records WHERE seq = 12")),
    "records swapped": ("does not match its digest", swap),
    "record added": ("does not match its digest", run(COPY + " WHERE seq = 12")),
    "content changed": ("does not match its digest", run("UPDATE contents SET body = x'0031' WHERE rowid = 3")),
    "content removed": ("no record says that it was forgotten", run("DELETE FROM contents WHERE rowid = 3")),
    "content said to be forgotten": (
        "no record says that it was forgotten",
        run("UPDATE contents SET body = NULL, salt = NULL, lookup = NULL, forgotten = 5 WHERE rowid = 3"),
    ),
    "index row removed": ("index", run("DELETE FROM touches WHERE entry = 3")),
    "index row added": ("index", run("INSERT INTO touches VALUES ('config/z', 3, 1)")),
}


def find_problems(place, note, public):
    """Return what is found wrong: faults of the journal, or else by which name the head refuses it."""
    report = examine_journal(place)
    if not report.whole:
        return [fault.problem for fault in report.faults]
    try:
        with closing(open_journal(place, readonly=True)) as store:
            require_continuation(store, open_head(note, public))
    except HeadError as refusal:
        return [refusal.problem]
    return []


def test_an_untouched_journal_passes(place, note, public):
    assert find_problems(place, note, public) == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_tampered_record_is_refused_by_name(place, note, public, name):
    problem, tamper = RECORDS[name]
    with closing(sqlite3.connect(place)) as database:
        database.execute("DROP TRIGGER records_no_update")
        database.execute("DROP TRIGGER records_no_delete")
        tamper(database)
        database.commit()
    found = find_problems(place, note, public)
    assert any(problem in told for told in found), found


# heads


def resign(key, text, name=ORIGIN):
    signed = hashlib.sha256(f"{name}\n".encode() + b"\1" + key.public_key().public_bytes_raw()).digest()[:4]
    return f"{text}\n\u2014 {name} {base64.b64encode(signed + key.sign(text.encode())).decode()}\n"


HEADS = {
    "another size": ("signature", lambda note, key: note.replace("\n12\n", "\n11\n")),
    "another root": ("signature", lambda note, key: note.replace(note.split("\n")[2][:4], "AAAA", 1)),
    "another origin": ("signature", lambda note, key: note.replace(ORIGIN, "example.org/other", 1)),
    "a line added": ("signature", lambda note, key: note.replace("\n\n", "\nmore\n\n", 1)),
    "another signer": ("signer", lambda note, key: note.replace(f"\u2014 {ORIGIN}", "\u2014 example.org/other")),
    "no signature": ("form", lambda note, key: note.partition("\n\n")[0] + "\n"),
    "an empty signature": ("form", lambda note, key: note.partition("\n\n")[0] + "\n\n\n"),
    "a hyphen for the dash": ("form", lambda note, key: note.replace("\u2014", "-")),
    "signature no base64": ("signature", lambda note, key: note[:-8] + "******\n"),
    "signature cut": ("signature", lambda note, key: note[:-13] + "\n"),
    "no newline at the end": ("form", lambda note, key: note[:-1]),
    "signed: size with a zero": ("size", lambda note, key: resign(key, f"{ORIGIN}\n012\n{note.split(chr(10))[2]}\n")),
    "signed: size below zero": ("size", lambda note, key: resign(key, f"{ORIGIN}\n-1\n{note.split(chr(10))[2]}\n")),
    "signed: size no number": ("size", lambda note, key: resign(key, f"{ORIGIN}\nx\n{note.split(chr(10))[2]}\n")),
    "signed: root too short": ("root", lambda note, key: resign(key, f"{ORIGIN}\n12\nAAAA\n")),
    "signed: root no base64": ("root", lambda note, key: resign(key, f"{ORIGIN}\n12\n*\n")),
    "signed: other origin": ("origin", lambda note, key: resign(key, f"other\n12\n{note.split(chr(10))[2]}\n")),
    "signed: lines missing": ("origin", lambda note, key: resign(key, f"{ORIGIN}\n12\n")),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_tampered_head_is_refused_by_name_and_the_script_names_it_alike(note, key, public, name):
    problem, tamper = HEADS[name]
    changed = tamper(note, key)
    assert changed != note
    with pytest.raises(HeadError) as fault:
        open_head(changed, public)
    assert fault.value.problem == problem
    with pytest.raises(script.RefusedError) as fault:
        script.open_head(changed, script.read_key(public))
    assert fault.value.problem == problem


# bundles


def edit(at, **fields):
    """Change fields of one line of a bundle."""

    def tamper(lines, key):
        lines[at] = json.dumps({**json.loads(lines[at]), **fields}) + "\n"

    return tamper


def edit_field(at, name, transform):
    def tamper(lines, key):
        line = json.loads(lines[at])
        line[name] = transform(line[name])
        lines[at] = json.dumps(line) + "\n"

    return tamper


def swap_lines(lines, key):
    lines[3], lines[4] = lines[4], lines[3]


def swap_proofs(lines, key):
    left, right = json.loads(lines[3]), json.loads(lines[4])
    left["proof"], right["proof"] = right["proof"], left["proof"]
    lines[3:5] = [json.dumps(line) + "\n" for line in (left, right)]


def repeat_line(lines, key):
    lines.insert(3, lines[3])


def drop_line(lines, key):
    del lines[3]


def drop_line_and_say_so(lines, key):
    del lines[3]
    edit_field(0, "records", lambda count: count - 1)(lines, key)


def withhold(lines, key):
    """Put a record behind a digest of the tamperer's choice."""
    line = json.loads(lines[3])
    lines[3] = (
        json.dumps({"seq": line["seq"], "digest": "ab" * 32, "withheld": "secret", "proof": line["proof"]}) + "\n"
    )


def withhold_a_node(lines, key):
    """Pass an inner node of the tree off as a record: leaves and nodes are digested differently."""
    line = json.loads(lines[1])
    other = base64.b64decode(line["proof"][0])
    told = {"seq": 1, "digest": other.hex(), "withheld": "secret", "proof": line["proof"][1:]}
    lines[1] = json.dumps(told) + "\n"


def sign_again(lines, key):
    """Sign a head over other records with a key that is not the signer's."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    text = json.loads(lines[0])["head"].partition("\n\n")[0] + "\n"
    edit(0, head=resign(Ed25519PrivateKey.generate(), text))(lines, key)


def break_chain_and_sign(lines, key):
    """Let a record name another predecessor, in a tree that the signer signed all the same."""
    records = [json.loads(line) for line in lines[1:]]
    records[4]["prev"] = "0" * 64
    digests = [script.compute_digest(record) for record in records]
    tree = MerkleTree(digests)
    for at, record in enumerate(records):
        record["proof"] = [base64.b64encode(node).decode() for node in tree.prove_inclusion(at)]
    text = f"{ORIGIN}\n{tree.size}\n{base64.b64encode(tree.root()).decode()}\n"
    first = {**json.loads(lines[0]), "head": resign(key, text)}
    lines[:] = [json.dumps(line) + "\n" for line in (first, *records)]


def cut_last_line(lines, key):
    lines[-1] = lines[-1][:-20]


def name_twice(lines, key):
    lines[3] = '{"seq": 3, ' + lines[3][1:]


BUNDLES = {
    "kind of a record": ("record", edit(3, kind="undo")),
    "time of a record": ("record", edit(3, created_at="2020-01-01T00:00:00+00:00")),
    "payload in a bundle": ("record", edit(3, payload='{"note":"other"}')),
    "ids of contents in a bundle": ("record", edit(3, contents="{}")),
    "entry in a bundle": ("record", edit(3, entry=7)),
    "index in a bundle": ("record", edit(3, touched="0" * 64)),
    "predecessor in a bundle": ("record", edit(3, prev="0" * 64)),
    "a payload moved into the contents": ("record", edit(3, payload="", contents="{}{}")),
    "another place in the chain": ("order", edit(3, seq=2)),
    "a place beyond the head": ("place", edit(3, seq=13)),
    "a place before the first": ("place", edit(3, seq=0)),
    "a place that is true": ("place", edit(1, seq=True)),
    "proof cut": ("proof", edit_field(3, "proof", lambda proof: proof[:-1])),
    "proof longer": ("proof", edit_field(3, "proof", lambda proof: [*proof, proof[0]])),
    "proof turned round": ("record", edit_field(3, "proof", lambda proof: proof[::-1])),
    "proof of another record": ("record", swap_proofs),
    "proof no base64": ("proof", edit_field(3, "proof", lambda proof: ["*", *proof[1:]])),
    "proof no list": ("form", edit(3, proof="none")),
    "digest instead of a record": ("record", withhold),
    "inner node for a record": ("proof", withhold_a_node),
    "records swapped in a bundle": ("order", swap_lines),
    "record repeated": ("order", repeat_line),
    "record left out": ("missing", drop_line),
    "record left out and the count changed": ("missing", drop_line_and_say_so),
    "count of another kind": ("missing", edit(0, records="12")),
    "field added": ("form", edit(3, more=1)),
    "column of another type in a bundle": ("form", edit(3, payload=1)),
    "name twice": ("form", name_twice),
    "last line cut": ("form", cut_last_line),
    "another format": ("form", edit(0, format="takeback-bundle/2")),
    "head no text": ("form", edit(0, head=None)),
    "size of the head": ("signature", edit_field(0, "head", lambda head: head.replace("\n12\n", "\n11\n"))),
    "head signed by another": ("signer", sign_again),
    "chain broken by the signer": ("chain", break_chain_and_sign),
}


@pytest.fixture
def lines(place, key):
    with closing(open_journal(place, readonly=True)) as store:
        return list(write_bundle(store, build_tree(store), lambda head: sign_head(head, key), ORIGIN))


def verify(lines, public, **more):
    return script.verify_bundle(io.BytesIO("".join(lines).encode()), public, **more)


def test_an_untouched_bundle_passes(lines, public):
    assert verify(lines, public, whole=True).startswith("12 of 12 records")


@pytest.mark.parametrize("name", BUNDLES)
def test_a_tampered_bundle_is_refused_by_name(lines, key, public, name):
    problem, tamper = BUNDLES[name]
    before = list(lines)
    tamper(lines, key)
    assert lines != before
    with pytest.raises(script.RefusedError) as fault:
        verify(lines, public, whole=True)
    assert fault.value.problem == problem


def test_a_bundle_under_another_head_than_the_kept_one_is_refused(lines, key, public, note):
    assert verify(lines, public, head=note)
    other = resign(key, f"{ORIGIN}\n12\n{base64.b64encode(hash_leaf(b'')).decode()}\n")
    with pytest.raises(script.RefusedError) as fault:
        verify(lines, public, head=other)
    assert fault.value.problem == "head"


def test_there_are_at_least_45_kinds_of_tampering_and_each_has_its_own_name():
    names = [*RECORDS, *HEADS, *BUNDLES]
    assert len(set(names)) == len(names) >= 45
