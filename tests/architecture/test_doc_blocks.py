"""What the docs show is what the commands print."""

import pytest
from tests.support.doc_blocks import BLOCK, documents, output_of

BLOCKS = [
    (path.name, match["command"], match["output"])
    for path in documents()
    for match in BLOCK.finditer(path.read_text())
]


def test_the_readme_has_blocks_that_are_run():
    assert any(name == "README.md" for name, _, _ in BLOCKS)


@pytest.mark.parametrize(
    ("name", "command", "shown"),
    [
        pytest.param(*block, id=f"{block[0]}: {block[1]}", marks=pytest.mark.long if " lab " in block[1] else ())
        for block in BLOCKS
    ],
)
def test_an_output_block_is_what_its_command_prints(name, command, shown):
    assert shown, f"{name} shows nothing under {command}"
    assert output_of(command) == shown, f"{name} is out of date: run `make docs`"
