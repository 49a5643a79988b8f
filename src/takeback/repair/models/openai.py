"""Any endpoint that speaks the OpenAI chat-completions protocol, through the `openai` SDK.

Retries transport faults only (connection, timeout, 429, 5xx), a bounded number of times; whatever else the
service does wrong ends the run as a `ServiceFault`. The key appears in no repr, error or reply. The reply's
text is returned as it came, cut at a limit. The schema is not sent as `strict`: that form allows no optional field,
and servers that constrain by the schema do so without it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast
from urllib.parse import urlsplit, urlunsplit

from takeback.canonical import write_pretty
from takeback.errors import MissingExtraError, ServiceFault
from takeback.repair.models.chat import TOO_LARGE, Reply, Request, Usage

SchemaForm = Literal["json_schema", "llguidance", "none"]
LimitField = Literal["max_tokens", "max_completion_tokens"]
"""What an endpoint calls the limit of generated tokens; newer OpenAI models take only the second."""
RETRIED_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT_S = 60.0
LONGEST_ASKED_S = 900.0
"""A service that asks for more patience than this for one request ends the run, which can be resumed."""
LEAST_ASKED_S = 1.0
"""What a wait counts at least, so that a service which asks for very short ones is asked boundedly often."""
SHORTEST_KEY = 12
RESUME = "start the run again to resume it"
NOT_STREAMS = ("text/html", "application/json")


class Secret:
    """A text that shows itself only when asked for by name."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def redact(self, text: str) -> str:
        """Return `text` with every occurrence of the secret blotted out."""
        return text.replace(self._text, "[redacted]") if self._text else text

    def redact_reply(self, text: str, limit: int) -> str:
        """Return a reply at most `limit` long without the secret or, at the cut, the start of it.

        Local servers are given placeholders such as `none` as a key: a short one is a word of the reply.
        """
        if len(self._text) < SHORTEST_KEY:
            return text[:limit]
        return self.redact(text) if len(text) <= limit else self.redact(text)[: max(0, limit - len(self._text))]

    def __repr__(self) -> str:
        return "Secret(***)"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served and how patiently it is asked."""

    base_url: str
    api_key: Secret = field(default_factory=lambda: Secret(""))
    model: str = ""
    schema_form: SchemaForm = "json_schema"
    limit_field: LimitField = "max_tokens"
    stream: bool = True
    timeout_s: float = 300.0
    max_retries: int = 4
    first_wait_s: float = 1.0
    concurrency: int = 4
    max_reply_chars: int = 65_536
    extra_body: Mapping[str, object] = field(default_factory=dict)


class _Transport(Exception):  # noqa: N818  (a signal between two functions of this module)
    """A fault worth another try; `wait_s` is what the service asked for."""

    def __init__(self, what: str, wait_s: float | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.wait_s = wait_s


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            import openai  # noqa: PLC0415 - an optional extra
        except ImportError:
            raise MissingExtraError(
                "the openai package is not installed", hint="pip install 'takeback[models]'"
            ) from None
        self._sdk = openai
        self._endpoint = endpoint
        self._sleep = sleep
        self._clock = clock
        self._slots = threading.BoundedSemaphore(endpoint.concurrency)
        self._pause = threading.Lock()
        self._not_before = 0.0
        self._client = openai.OpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key.reveal() or "none",
            timeout=endpoint.timeout_s,
            max_retries=0,
        )

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._endpoint.model

    def complete(self, request: Request) -> Reply:
        """Answer one request; transport faults are tried again, then the run stops.

        A wait that the service asks for holds for every thread that shares this model. It uses up patience, not
        tries: where many share a rate limit, one of them can be turned away many times.
        """
        wait, left, patience = self._endpoint.first_wait_s, self._endpoint.max_retries, LONGEST_ASKED_S
        with self._slots:
            while True:
                self._hold()
                try:
                    return self._once(request)
                except _Transport as fault:
                    if fault.wait_s:
                        patience -= max(fault.wait_s, LEAST_ASKED_S)
                        if patience < 0:
                            raise self._fault(f"{fault.what}; it asks to wait {fault.wait_s:g} s") from None
                        self._hold_until(self._clock() + fault.wait_s)
                        continue
                    if not left:
                        tries = self._endpoint.max_retries + 1
                        raise self._fault(f"{fault.what} ({tries} tries)") from None
                    left -= 1
                    self._sleep(min(wait, LONGEST_WAIT_S))
                    wait = min(wait * 2, LONGEST_WAIT_S)

    def _hold_until(self, moment: float) -> None:
        with self._pause:
            self._not_before = max(self._not_before, moment)

    def _hold(self) -> None:
        """Wait as long as the service asked anyone to, also where it asks for more meanwhile."""
        kept = 0.0
        while (until := self._not_before) > kept:
            if (left := until - self._clock()) > 0:
                self._sleep(left)
            kept = until

    def _once(self, request: Request) -> Reply:
        sdk, started = self._sdk, self._clock()
        try:
            answer = self._client.chat.completions.create(**self._arguments(request))
            text, finish, usage = self._collect(answer, started) if self._endpoint.stream else self._whole(answer)
        except sdk.APITimeoutError:
            raise _Transport(f"no answer within {self._endpoint.timeout_s:g} s") from None
        except sdk.APIConnectionError as error:
            raise _Transport(f"connection failed ({error.__cause__ or error})") from None
        except sdk.APIStatusError as error:
            raise self._status(error) from None
        except (sdk.APIResponseValidationError, ValueError, AttributeError, LookupError, TypeError) as error:
            raise self._fault(f"the answer is not a chat completion ({type(error).__name__}: {error})") from None
        except sdk.APIError as error:
            raise self._fault(f"the service reported an error: {error.message}") from None
        except OSError as error:
            raise _Transport(f"connection lost ({error})") from None
        except Exception as error:
            if type(error).__module__.split(".")[0] not in {"httpx", "httpcore", "httpx2", "httpcore2"}:
                raise
            raise _Transport(f"connection lost mid-reply ({type(error).__name__}: {error})") from None
        latency = round(self._clock() - started, 3)
        limit = self._endpoint.max_reply_chars
        finish = TOO_LARGE if len(text) > limit else finish
        return Reply(self._endpoint.api_key.redact_reply(text, limit), finish, usage, latency)

    def _arguments(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "seed": request.seed,
            self._endpoint.limit_field: request.max_tokens,
        }
        for name in ("temperature", "top_p", "reasoning_effort"):
            value = getattr(request, name)
            if value is not None:
                body[name] = value
        extra = dict(self._endpoint.extra_body)
        if request.schema is not None and self._endpoint.schema_form == "json_schema":
            named = {"name": "candidate", "schema": dict(request.schema), "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif request.schema is not None and self._endpoint.schema_form == "llguidance":
            extra["grammar"] = build_llguidance_grammar(request.schema)
        if self._endpoint.stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        if extra:
            body["extra_body"] = extra
        return body

    def _collect(self, chunks: Any, started: float) -> tuple[str, str, Usage]:
        kind = chunks.response.headers.get("content-type", "")
        if kind.startswith(NOT_STREAMS):
            raise ValueError(f"{kind} instead of a stream of events")
        pieces: list[str] = []
        size, finish, usage = 0, "", Usage()
        with chunks:
            for chunk in chunks:
                if self._clock() - started > self._endpoint.timeout_s:
                    raise _Transport(f"no whole answer within {self._endpoint.timeout_s:g} s")
                if chunk.usage is not None:
                    usage = _read_usage(chunk.usage)
                for choice in chunk.choices:
                    pieces.append(choice.delta.content or "")
                    size += len(pieces[-1])
                    finish = choice.finish_reason or finish
                if size > self._endpoint.max_reply_chars:
                    return "".join(pieces), TOO_LARGE, usage
        if not finish:
            raise _Transport("the stream ended before the reply did")
        return "".join(pieces), finish, usage

    def _whole(self, answer: Any) -> tuple[str, str, Usage]:
        choice = answer.choices[0]
        text = choice.message.content or ""
        usage = _read_usage(answer.usage) if answer.usage is not None else Usage()
        return text, cast("str", choice.finish_reason), usage

    def _status(self, error: Any) -> Exception:
        what = f"HTTP {error.status_code}: {_shorten(self._endpoint.api_key.redact(error.message))}"
        if error.status_code in RETRIED_STATUS or error.status_code >= 500:  # noqa: PLR2004 - server errors
            return _Transport(what, _read_retry_after(error.response.headers))
        return self._fault(what, _HINTS.get(error.status_code, RESUME))

    def _fault(self, what: str, hint: str = RESUME) -> ServiceFault:
        where = f"{strip_credentials(self._endpoint.base_url)} ({self._endpoint.model})"
        redact = self._endpoint.api_key.redact
        return ServiceFault(redact(what), where=redact(where), hint=hint)


_HINTS: Mapping[int, str] = {
    400: "the endpoint refuses the request: schema_form, limit_field and --sampling say what it is sent",
    401: "the key is that of TAKEBACK_API_KEY, of the config file, or of OPENAI_API_KEY",
    403: "the key is that of TAKEBACK_API_KEY, of the config file, or of OPENAI_API_KEY",
    404: "is the address in TAKEBACK_BASE_URL right (it mostly ends in /v1), and the model's name?",
}


def strip_credentials(url: str) -> str:
    """Return an address as it may be shown: no user, password or query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def build_llguidance_grammar(schema: Mapping[str, object]) -> str:
    """Return the schema as an llguidance grammar without whitespace: half the tokens of spaced JSON.

    A grammar cannot say that items differ, and a schema that asks for it is silently not held to: it is left out.
    """
    compact = {**_drop_unique(schema), "x-guidance": {"whitespace_flexible": False}}
    return "%llguidance {}\nstart: %json " + write_pretty(compact, indent=None, ascii_only=True)


def _drop_unique(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {name: _drop_unique(part) for name, part in schema.items() if name != "uniqueItems"}
    return [_drop_unique(part) for part in schema] if isinstance(schema, list) else schema


def _read_usage(seen: Any) -> Usage:
    return Usage(int(seen.prompt_tokens or 0), int(seen.completion_tokens or 0))


def _read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how long the service asks to wait (milliseconds, seconds or a date); None where that is unusable."""
    milliseconds, value = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if milliseconds.replace(".", "", 1).isdecimal():
        return float(milliseconds) / 1000
    if value.replace(".", "", 1).isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds()) if moment.tzinfo is not None else None


def _shorten(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
