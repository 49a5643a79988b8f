"""An OpenAI-compatible endpoint that misbehaves: each fault has one outcome, and no key leaks."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from tests.support.fault_server import Act, FaultServer

from takeback.errors import ServiceFault
from takeback.repair.models import Endpoint, Message, OpenAIModel, RecordingModel, Request, Secret
from takeback.repair.models.chat import TOO_LARGE

CANARY = "sk-canary-7f3a91"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
REQUEST = Request(model="m", messages=(Message("user", "hello"),), schema=SCHEMA, seed=7003)


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def model_for(server: FaultServer, waits: list[float] | None = None, **changes: object) -> OpenAIModel:
    endpoint = Endpoint(base_url=server.base_url, api_key=Secret(CANARY), model="m", timeout_s=5, max_retries=2)
    kept = waits if waits is not None else []
    return OpenAIModel(replace(endpoint, **changes), sleep=kept.append)  # type: ignore[arg-type]


def test_a_good_reply_comes_back_with_its_usage_and_finish_reason(stream: bool) -> None:
    with FaultServer([Act(text='{"a":1}')]) as server:
        reply = model_for(server, stream=stream).complete(REQUEST)
    assert (reply.text, reply.finish_reason) == ('{"a":1}', "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)


def test_the_request_carries_every_parameter_and_the_schema() -> None:
    with FaultServer([Act(text="{}")]) as server:
        model_for(server).complete(replace(REQUEST, reasoning_effort="medium"))
    sent = server.seen[0].body
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (sent["temperature"], sent["top_p"], sent["seed"], sent["max_tokens"]) == (0.2, 0.95, 7003, 2048)
    assert sent["reasoning_effort"] == "medium"
    assert server.seen[0].authorization == f"Bearer {CANARY}"


def test_an_endpoint_may_call_the_limit_field_by_its_newer_name() -> None:
    with FaultServer([Act(text="{}")]) as server:
        model_for(server, limit_field="max_completion_tokens").complete(REQUEST)
    assert server.seen[0].body["max_completion_tokens"] == 2048
    assert "max_tokens" not in server.seen[0].body


def test_the_grammar_form_sends_a_compact_grammar_instead_of_a_response_format() -> None:
    with FaultServer([Act(text="{}")]) as server:
        model_for(server, schema_form="llguidance").complete(REQUEST)
    sent = server.seen[0].body
    assert sent["grammar"].startswith("%llguidance {}\nstart: %json ")
    assert '"whitespace_flexible": false' in sent["grammar"]
    assert "response_format" not in sent


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_transport_status_is_tried_again_and_the_answer_counts(status: int, stream: bool) -> None:
    with FaultServer([Act(status=status), Act(text="{}")]) as server:
        assert model_for(server, stream=stream).complete(REQUEST).text == "{}"
    assert len(server.seen) == 2


@pytest.mark.parametrize("status", [429, 500])
def test_a_transport_status_that_stays_ends_in_a_service_fault_after_bounded_tries(status: int) -> None:
    waits: list[float] = []
    with (
        FaultServer([Act(status=status)]) as server,
        pytest.raises(ServiceFault, match=f"HTTP {status}.*3 tries"),
    ):
        model_for(server, waits).complete(REQUEST)
    assert len(server.seen) == 3
    assert waits == [1.0, 2.0]


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 3))
        self.now += seconds


def patient(server: FaultServer, clock: Clock) -> OpenAIModel:
    endpoint = Endpoint(base_url=server.base_url, model="m", timeout_s=5, max_retries=2)
    return OpenAIModel(endpoint, sleep=clock.sleep, clock=clock)


@pytest.mark.parametrize(
    ("header", "value", "wait"),
    [("Retry-After", "7", 7.0), ("Retry-After", "120", 120.0), ("retry-after-ms", "250", 0.25)],
)
def test_the_wait_requested_by_a_busy_service_is_respected(header: str, value: str, wait: float) -> None:
    clock = Clock()
    with FaultServer([Act(status=429, headers=((header, value),)), Act(text="{}")]) as server:
        patient(server, clock).complete(REQUEST)
    assert clock.waits == [wait]


@pytest.mark.parametrize("value", ["²", "soon", "-5", "1e3", "nan", "."])
def test_an_unreadable_wait_is_ignored(value: str) -> None:
    clock = Clock()
    with FaultServer([Act(status=429, headers=(("Retry-After", value),)), Act(text="{}")]) as server:
        patient(server, clock).complete(REQUEST)
    assert clock.waits == [1.0]


def test_a_wait_given_as_a_date_is_respected() -> None:
    clock = Clock()
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    with FaultServer([Act(status=503, headers=(("Retry-After", when),)), Act(text="{}")]) as server:
        patient(server, clock).complete(REQUEST)
    [waited] = clock.waits
    assert 25 <= waited <= 30


def test_a_wait_for_one_request_delays_every_other() -> None:
    clock = Clock()
    with FaultServer([Act(status=429, headers=(("Retry-After", "40"),)), Act(text="{}")]) as server:
        model = patient(server, clock)
        model._hold_until(clock.now + 40)
        model.complete(REQUEST)
    assert clock.waits == [40.0, 40.0]


def test_a_service_that_asks_for_hours_ends_the_run_and_says_so() -> None:
    clock = Clock()
    fault = pytest.raises(ServiceFault, match="asks to wait 9000 s")
    with FaultServer([Act(status=429, headers=(("Retry-After", "9000"),))]) as server, fault:
        patient(server, clock).complete(REQUEST)
    assert clock.waits == []


def test_a_shared_rate_limit_is_waited_out() -> None:
    clock = Clock()
    busy = Act(status=429, headers=(("Retry-After", "1"),))
    with FaultServer([*[busy] * 12, Act(text="{}")]) as server:
        assert patient(server, clock).complete(REQUEST).text == "{}"
    assert clock.waits == [1.0] * 12


@pytest.mark.parametrize(("value", "most"), [("300", 4), ("0", 3)])
def test_endless_requests_to_wait_end_the_run(value: str, most: int) -> None:
    clock = Clock()
    with (
        FaultServer([Act(status=429, headers=(("Retry-After", value),))]) as server,
        pytest.raises(ServiceFault, match="HTTP 429"),
    ):
        patient(server, clock).complete(REQUEST)
    assert len(server.seen) == most


def test_a_prolonged_wait_is_respected_to_its_end() -> None:
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if len(clock.waits) == 1:
            model._hold_until(clock.now + 5)

    with FaultServer([Act(text="{}")]) as server:
        model = OpenAIModel(Endpoint(base_url=server.base_url, model="m"), sleep=sleep, clock=clock)
        model._hold_until(clock.now + 2)
        model.complete(REQUEST)
    assert clock.waits == [2.0, 5.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_of_the_service_is_a_fault_at_once(status: int) -> None:
    fault = pytest.raises(ServiceFault, match=f"HTTP {status}.*no such model")
    with FaultServer([Act(status=status, error="no such model")]) as server, fault:
        model_for(server).complete(REQUEST)
    assert len(server.seen) == 1


def test_a_service_that_never_answers_ends_in_a_service_fault(stream: bool) -> None:
    with FaultServer([Act(stall=True)]) as server, pytest.raises(ServiceFault, match="no answer within"):
        model_for(server, stream=stream, timeout_s=0.2, max_retries=1).complete(REQUEST)
    assert len(server.seen) == 2


def test_a_stream_that_drips_past_the_deadline_ends_in_a_service_fault() -> None:
    ticks = iter(float(10 * n) for n in range(1000))
    with FaultServer([Act(text="x" * 4096)]) as server:
        endpoint = Endpoint(base_url=server.base_url, model="m", timeout_s=15, max_retries=0)
        with pytest.raises(ServiceFault, match="no whole answer within 15 s"):
            OpenAIModel(endpoint, clock=lambda: next(ticks)).complete(REQUEST)


def test_a_connection_dropped_mid_reply_is_tried_again(stream: bool) -> None:
    with FaultServer([Act(text="x" * 4096, drop_after=600), Act(text="{}")]) as server:
        assert model_for(server, stream=stream).complete(REQUEST).text == "{}"


def test_a_connection_that_keeps_dropping_is_a_service_fault_never_a_short_reply(stream: bool) -> None:
    with (
        FaultServer([Act(text="x" * 4096, drop_after=600)]) as server,
        pytest.raises(ServiceFault, match="3 tries"),
    ):
        model_for(server, stream=stream).complete(REQUEST)


def test_no_server_at_all_is_a_service_fault() -> None:
    with FaultServer([Act()]) as server:
        gone = model_for(server)
    with pytest.raises(ServiceFault, match="connection failed"):
        gone.complete(REQUEST)


@pytest.mark.parametrize("body", ['{"id": "x"}', '{"choices": []}', '{"choices": [{"index"', "[1, 2]", "<html>"])
def test_an_envelope_that_is_no_chat_completion_is_a_service_fault_at_once(body: str, stream: bool) -> None:
    with FaultServer([Act(raw_body=body)]) as server, pytest.raises(ServiceFault, match="not a chat completion"):
        model_for(server, stream=stream).complete(REQUEST)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "TAKEBACK_API_KEY"), (404, "TAKEBACK_BASE_URL"), (400, "schema_form"), (422, "resume")]
)
def test_a_refusal_hints_at_its_cause(status: int, hint: str) -> None:
    with FaultServer([Act(status=status)]) as server, pytest.raises(ServiceFault, match=hint):
        model_for(server).complete(REQUEST)


def test_an_address_is_shown_without_its_secrets() -> None:
    with FaultServer([Act(status=404)]) as server:
        address = server.base_url.replace("//", "//user:hunter2@") + "?token=hunter2"
        model = OpenAIModel(Endpoint(base_url=address, model="m", max_retries=0))
        with pytest.raises(ServiceFault, match=server.base_url) as caught:
            model.complete(REQUEST)
    assert "hunter2" not in str(caught.value)


def test_schemas_are_not_sent_as_strict() -> None:
    with FaultServer([Act(text="{}")]) as server:
        model_for(server).complete(REQUEST)
    assert server.seen[0].body["response_format"]["json_schema"]["strict"] is False


@pytest.mark.parametrize("key", ["none", "EMPTY", "ollama"])
def test_a_placeholder_for_a_key_leaves_the_reply_as_it_is(key: str, stream: bool) -> None:
    with FaultServer([Act(text='{"value":"none","x":"EMPTY ollama"}')]) as server:
        reply = model_for(server, stream=stream, api_key=Secret(key)).complete(REQUEST)
    assert reply.text == '{"value":"none","x":"EMPTY ollama"}'


@pytest.mark.parametrize("before", range(480, 512, 3))
def test_cutting_a_reply_leaves_no_part_of_a_key(before: int, stream: bool) -> None:
    with FaultServer([Act(text="y" * before + CANARY + "z" * 2000)]) as server:
        reply = model_for(server, stream=stream, max_reply_chars=500).complete(REQUEST)
    assert reply.finish_reason == TOO_LARGE
    assert set(reply.text) <= set("y[redacted]z")
    assert CANARY[:3] not in reply.text


def test_a_huge_reply_is_cut_at_the_limit_and_says_so(stream: bool) -> None:
    with FaultServer([Act(text="y" * 3_000_000)]) as server:
        reply = model_for(server, stream=stream, max_reply_chars=5000).complete(REQUEST)
    assert reply.finish_reason == TOO_LARGE
    assert 4900 < len(reply.text) <= 5000


def test_a_reply_cut_at_the_token_limit_is_distinguished(stream: bool) -> None:
    with FaultServer([Act(text='{"a":', finish_reason="length")]) as server:
        assert model_for(server, stream=stream).complete(REQUEST).finish_reason == "length"


def test_no_more_requests_are_open_at_once_than_allowed() -> None:
    together, most, lock, gate = 0, 0, threading.Lock(), threading.Event()

    def text(_: dict[str, object]) -> str:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        gate.wait(0.05)
        with lock:
            together -= 1
        return "{}"

    with FaultServer([Act(text=text)]) as server:
        model = model_for(server, concurrency=2)
        threads = [threading.Thread(target=model.complete, args=(replace(REQUEST, seed=n),)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.seen) == 8
    assert most <= 2


def test_the_key_is_in_no_repr_log_error_or_recording(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[str] = []
    script = [
        Act(status=500, echo_key=True),
        Act(status=401, echo_key=True),
        Act(text="key is", echo_key=True),
    ]
    with FaultServer(script) as server:
        model = model_for(server, stream=stream)
        heard += [repr(model), repr(Secret(CANARY)), repr(Endpoint(base_url="x", api_key=Secret(CANARY)))]
        with RecordingModel(model, tmp_path) as recorder:
            with pytest.raises(ServiceFault) as caught:
                recorder.complete(REQUEST)
            heard += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
            heard.append(recorder.complete(REQUEST).text)
    assert all(seen.authorization == f"Bearer {CANARY}" for seen in server.seen)
    heard += [path.read_text() for path in tmp_path.iterdir()]
    heard.append(caplog.text)
    assert CANARY not in "\n".join(heard)
    assert "[redacted]" in "\n".join(heard)
