"""What the server's tools answer, field by field: the output schemas that clients see are made from these."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class HarnessItem(BaseModel):
    """One thing of the harness."""

    address: str = Field(description='Where it is, such as config["permissions.allow"].')
    value: Any = Field(description="What stands there; secrets are masked.")


class StateAnswer(BaseModel):
    """The harness as it is."""

    items: list[HarnessItem]
    left_out: int = Field(description="How many more there are; ask with a filter, or from a later offset.")
    head: str = Field(description="The journal's last record.")


class AddressChange(BaseModel):
    """What happens at one address."""

    address: str
    part: str | None = None
    before: Any = None
    after: Any = None
    existed: bool = True
    exists: bool = True


class VerdictAnswer(BaseModel):
    """What was found out about a candidate."""

    admitted: bool
    grade: str = Field(
        description="How good the evidence is: proved, refuted, or declared where nothing was checked."
    )
    reasons: list[str] = Field(description="Why it is not admitted.")
    breaking_state: dict[str, Any] | None = Field(
        description="The smallest state on which the recovery does not bring everything back."
    )
    breaks: list[str] = Field(description="What is left wrong on that state.")


class Proposed(BaseModel):
    """What was decided about a proposed change. Nothing was changed."""

    outcome: Literal["admitted", "repaired", "not admitted", "refused"]
    message: str
    token: str | None = Field(default=None, description="Give this to apply_change; only what is admitted has one.")
    verdict: VerdictAnswer | None = Field(default=None, description="About the proposal as it was sent.")
    candidate: dict[str, Any] | None = Field(
        default=None,
        description="What would be applied: mutation, witness, recovery; the recovery may be a repaired one.",
    )
    changes: list[AddressChange] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list, description="Files it would change.")
    person: list[str] = Field(default_factory=list, description="What a person is asked about before it is made.")
    command: str | None = Field(default=None, description="What a person can run instead.")


class Done(BaseModel):
    """What became of a request to change something."""

    outcome: Literal["applied", "unchanged", "undone", "refused", "declined", "stale", "unknown token"]
    message: str
    entry: str | None = Field(default=None, description="The id of the entry that was made.")
    number: int | None = None
    effect: list[str] = Field(default_factory=list, description="When the client notices, where that is known.")
    command: str | None = Field(default=None, description="What a person can run instead.")


class Planned(BaseModel):
    """What an undo would do. Nothing was changed."""

    outcome: Literal["planned", "blocked", "gone", "refused"]
    message: str
    token: str | None = Field(default=None, description="Give this to undo.")
    off: list[int] = Field(default_factory=list, description="Entries that are taken back.")
    on: list[int] = Field(default_factory=list, description="Entries that are brought back.")
    changes: list[AddressChange] = Field(default_factory=list)
    kept: list[str] = Field(default_factory=list, description="What stays, because a later entry wrote it.")
    unadmitted: list[int] = Field(
        default_factory=list,
        description="Entries without an admitted recovery: forced, or made outside Takeback and adopted.",
    )
    person: list[str] = Field(default_factory=list, description="What a person is asked about before it is done.")
    command: str | None = None


class Entry(BaseModel):
    """One entry of the history."""

    number: int
    id: str
    kind: str
    at: str
    status: str
    grade: str | None
    forced: bool
    by: str | None = Field(description="Who made it, as far as that was said; null for a person at the command line.")
    yours: bool = Field(description="Whether this client made it; the undo of others' entries is asked about.")
    what: str


class HistoryPage(BaseModel):
    """Entries, newest first."""

    entries: list[Entry]
    more: bool = Field(description="Whether there are older ones.")


class StatusAnswer(BaseModel):
    """How the harness stands."""

    clean: bool
    live: int
    undone: int
    head: str
    drift: list[str] = Field(description="What was changed behind Takeback's back; a person or a hook adopts it.")
    problems: list[str]
    notes: list[str] = Field(
        description="What is to be known and needs nothing done, such as folders with a harness of their own."
    )
    you: str = Field(description="How this client's entries are signed.")
    command: str | None = Field(default=None, description="What a person can run where something needs attention.")
