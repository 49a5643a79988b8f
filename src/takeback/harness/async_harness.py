"""A harness for programs with asyncio: its calls are awaited, and made one after the other in a thread of its own.

`async with open_workspace(path) as harness` gives one. A call that is cancelled while it waits for its turn is never
made. One that is under way is not interrupted: its `await` ends at once, the change is still made completely or not
at all in the thread, subscribers are called, and calls after it, `close` among them, wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from takeback.harness.entry_log import EntryView
from takeback.harness.harness import Harness
from takeback.harness.outcomes import HarnessOutcome
from takeback.state import State

PAGE: Final = 100
"""How many entries of the log are fetched at a time."""
CallArguments = ParamSpec("CallArguments")
CallResult = TypeVar("CallResult")


def _await_in_thread(
    method: Callable[Concatenate[Harness, CallArguments], CallResult],
) -> Callable[Concatenate[AsyncHarness, CallArguments], Coroutine[Any, Any, CallResult]]:
    """Return a method of a harness as one that is awaited."""

    @wraps(method)
    async def call(self: AsyncHarness, /, *args: CallArguments.args, **options: CallArguments.kwargs) -> CallResult:
        return await self.run(partial(method, self.harness, *args, **options))

    return call


class AsyncHarness:
    """A harness whose calls are awaited; `harness` is the one beneath, to be used in its thread, by `run`."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="takeback")

    set = _await_in_thread(Harness.set)
    add = _await_in_thread(Harness.add)
    edit = _await_in_thread(Harness.edit)
    append = _await_in_thread(Harness.append)
    remove = _await_in_thread(Harness.remove)
    move = _await_in_thread(Harness.move)
    apply = _await_in_thread(Harness.apply)
    preview = _await_in_thread(Harness.preview)
    plan_undo = _await_in_thread(Harness.plan_undo)
    undo = _await_in_thread(Harness.undo)
    undo_files = _await_in_thread(Harness.undo_files)
    redo = _await_in_thread(Harness.redo)
    restore = _await_in_thread(Harness.restore)
    adopt = _await_in_thread(Harness.adopt)
    prove_recorded = _await_in_thread(Harness.prove_recorded)
    discard = _await_in_thread(Harness.discard)
    salvage = _await_in_thread(Harness.salvage)
    forget = _await_in_thread(Harness.forget)
    forget_value = _await_in_thread(Harness.forget_value)
    forget_subject = _await_in_thread(Harness.forget_subject)
    recover = _await_in_thread(Harness.recover)
    resolve = _await_in_thread(Harness.resolve)
    status = _await_in_thread(Harness.status)

    @property
    def state(self) -> State:
        """The state the journal says the harness is in, as of the last call."""
        return self.harness.state

    async def run(self, work: Callable[[], CallResult]) -> CallResult:
        """Run a function in the harness's thread, such as one that holds a session; nothing else runs meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def log(self) -> AsyncIterator[EntryView]:
        """Yield entries, newest first."""
        entries = self.harness.log()
        while page := await self.run(lambda: list(islice(entries, PAGE))):
            for entry in page:
                yield entry

    def subscribe(self, callback: Callable[[HarnessOutcome], object]) -> Callable[[], None]:
        """Have a function told every outcome, in the event loop; returns the function that ends that."""
        loop = asyncio.get_running_loop()
        return self.harness.subscribe(lambda outcome: loop.call_soon_threadsafe(callback, outcome))

    async def close(self) -> None:
        """Wait for the call under way, then close the harness, also if this is cancelled."""
        closing = asyncio.get_running_loop().run_in_executor(self._thread, self.harness.close)
        self._thread.shutdown(wait=False)
        await asyncio.shield(closing)
