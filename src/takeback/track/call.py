"""One tool call as its client reports it, and the result of its capture. Imported by hooks, with nothing else."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Call:
    """One tool call, as its client tells of it; without a tool, another event."""

    __slots__ = ("call", "client", "command", "edits", "lasting", "mask", "paths", "said", "session", "tool")

    def __init__(
        self,
        client: str,
        session: str = "",
        call: str = "",
        tool: str = "",
        command: str = "",
        paths: Sequence[str] | None = None,
        edits: Sequence[tuple[str, str, str]] = (),
        mask: Callable[[str], str] | None = None,
        said: Mapping[str, str] | None = None,
    ) -> None:
        self.client, self.session, self.call, self.tool = client, session, call, tool
        self.command = command
        """The command of a shell call, as it may be shown: without secrets."""
        self.paths = paths
        """The files that it names, relative to the project; None where any may change."""
        self.edits = edits
        self.lasting = False
        """Whether it goes on in the background after its client told of its end."""
        self.said = {} if said is None else dict(said)
        """What is said of it for its entry: a note, by whom, with which exit code it ended."""
        self.mask = mask or _keep_first_word
        """Takes secrets out of what git's log says, in which there are messages of commits."""


def _keep_first_word(text: str) -> str:
    return text.partition(":")[0]


class CaptureResult:
    """What became of a capture."""

    __slots__ = ("owned_changed", "row", "said")

    def __init__(self) -> None:
        self.owned_changed = False
        """Whether a file of a client's adapter changed, which is recorded in its own way."""
        self.row = 0
        """The number of the intake row; 0 if nothing changed."""
        self.said: list[str] = []
        """What a person has to know at once."""
