"""Every error of Takeback in one place.

An error says what happened, where, and what to do next. "Not recoverable", "blocked" and "not admitted"
are results, never errors.
"""

from enum import StrEnum

_LINE = 120


def _make_storable(text: str) -> str:
    """Return a text that can be printed and stored: half a surrogate pair as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _describe_value(found: object) -> str:
    """Return how Python prints a value, or why it cannot be shown."""
    try:
        return repr(found)
    except RecursionError:
        return "a value nested too deep to show"
    except ValueError:
        return f"a number too long to show ({type(found).__name__})"


class TakebackError(Exception):
    """Base of all errors; `where` names the file and the place in it, `hint` the next step."""

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = _make_storable(message)
        self.where = _make_storable(where)
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.hint}" if self.hint else text


class InputError(TakebackError):
    """Invalid input: names what was found and what was expected."""

    def __init__(self, where: str, *, found: object, expected: str, hint: str = "") -> None:
        shown = (found or "an empty text") if isinstance(found, str) else _describe_value(found)
        if len(shown) > _LINE:
            shown = shown[: _LINE - 3] + "..."
        super().__init__(f"found {shown}, expected {expected}", where=where, hint=hint)
        self.found = _make_storable(shown)
        self.expected = expected


class NameTakenError(InputError):
    """A name that should be new already exists."""

    def __init__(self, where: str, *, hint: str = "") -> None:
        super().__init__(where, found="a name that already exists", expected="a new name", hint=hint)
        self.message = "already exists"


class WrongTypeError(InputError, TypeError):
    """An argument of a type that cannot be taken: names the type that was passed and what to pass."""

    def __init__(self, where: str, given: object, *, expected: str, hint: str = "") -> None:
        super().__init__(where, found=f"an object of type {type(given).__name__}", expected=expected, hint=hint)


class UnknownOperationError(InputError):
    """An `op_type` that no language has, or not at this stage."""


class LimitError(InputError):
    """An input is larger, deeper or longer than Takeback accepts (docs/formats.md lists the limits)."""


class OperationFailed(TakebackError):  # noqa: N818  (a failed operation is an expected outcome of running it)
    """One operation could not run on this state; the program it belongs to has no effect."""


class FaultKind(StrEnum):
    """Why a recovery could not run, to act on; the sentence to read is in the error."""

    NO_CAPTURE = "no_capture"
    """No capture wrote the witness key that an operation names."""
    OTHER_SURFACE = "other_surface"
    """The witness key holds a capture of another surface."""
    CANNOT_RUN = "cannot_run"
    """The operation cannot run on this state."""
    EXCEPTION = "exception"
    """Something broke that no operation may break."""


class RecoveryFailed(OperationFailed):
    """An operation of a recovery program could not run: which one, and why."""

    def __init__(self, message: str, *, kind: FaultKind, position: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.position = position


class VerifierBroken(TakebackError):  # noqa: N818  (says what is broken)
    """The verifier let a planted bad recovery through; no verdict of this run may be used."""


class EvidenceError(TakebackError):
    """A verdict was put to a candidate for which it is no evidence; the message says why."""


class ProgramTooLarge(TakebackError):  # noqa: N818  (says what is too large)
    """A proof would have to look at more classes of states than the bound allows."""


class UnknownSurfaceError(InputError):
    """A name that is no registered surface."""


class OutputError(TakebackError):
    """What a command has to say cannot be written: a full device, a stream that is closed."""


# journal, harness -------------------------------------------------------------------------------


class JournalError(TakebackError):
    """The journal could not do what was asked; nothing was written."""


class JournalBusyError(JournalError):
    """Another process holds the journal longer than the time allowed for waiting."""


class JournalCorruptError(JournalError):
    """The journal holds something it cannot have written. `seq` names the record where that is known."""

    def __init__(self, message: str, *, seq: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint or "'takeback doctor' shows what can still be read")
        self.seq = seq


class StaleHeadError(JournalError):
    """The journal has grown since the caller looked at it."""


KEYS_HINT = (
    "put the key file back from a copy, name the right one with TAKEBACK_KEYS, or do this where the change was made: "
    "what another copy of the harness recorded can be read with its own keys only"
)


class MissingKeysError(JournalError):
    """A sealed journal's keys are not where they were looked for."""


class NotHeldError(JournalError):
    """This process no longer holds the journal: another may have gone on, so nothing more may be done."""


class UnknownEntryError(JournalError):
    """No record, or more than one, answers to the name given."""


class UnsafePathError(TakebackError):
    """A path leaves its directory, or cannot be a path at all."""


class NoPlaceError(UnsafePathError):
    """A path at which nothing of a harness may be: version control's, Takeback's own, or outside."""


class HarnessError(TakebackError):
    """The real things behind a harness could not be read or changed; `str` says which and why."""


class UntrustedError(HarnessError):
    """A harness that this user neither made nor trusted on this machine: it is read, never acted on."""


class DeniedError(HarnessError):
    """The policy does not allow this to the caller: `str` says who, which verb, and what the policy says."""


class ChangedMeanwhile(HarnessError):  # noqa: N818  (says what happened)
    """A file is not what it was when it was read: someone else changed it. It was left as it is."""


class UnreachableError(HarnessError):
    """Another system could not be asked, or did not do what it was asked; secrets are left out of what it said."""


class LostLock(HarnessError):  # noqa: N818  (says what happened)
    """This process no longer holds the journal's lock in the middle of a change, and did nothing more."""


class CannotSplice(TakebackError):  # noqa: N818  (says what cannot be done)
    """A document cannot be edited in place as asked; it is never written anew instead."""


# models -----------------------------------------------------------------------------------------------


class ServiceFault(TakebackError):  # noqa: N818  (the service is at fault, not the model)
    """The model service failed: the run stops, nothing counts against the model, and it can be resumed."""


class RecordingError(TakebackError):
    """A recording cannot be read, or lacks the request that was asked of it."""


class MissingExtraError(TakebackError):
    """An optional dependency is not installed."""
