"""Where a model is served comes from the environment before the file, and a key shows nowhere."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.errors import InputError, ServiceFault
from takeback.repair.models import chat
from takeback.repair.models.chat import Message, Provider, Reply, Request, Surroundings, Usage, list_provider_names
from takeback.repair.models.settings import build_endpoint, read_settings
from takeback.repair.synthesizer import Spec, open_model, parse_spec
from takeback_lab.errors import WeightsError

CANARY = "sk-canary-settings"


def write_config(home: Path, text: str) -> None:
    (home / ".config/takeback").mkdir(parents=True)
    (home / ".config/takeback/config.toml").write_text(text)


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    write_config(tmp_path, '[model]\nbase_url = "http://file/v1"\napi_key = "from-file"\ntimeout_s = 12.5\n')
    from_file = build_endpoint("m", read_settings({}, tmp_path))
    assert (from_file.base_url, from_file.api_key.reveal(), from_file.timeout_s) == (
        "http://file/v1",
        "from-file",
        12.5,
    )
    environment = {"TAKEBACK_BASE_URL": "http://env/v1", "TAKEBACK_API_KEY": " from-env\n"}
    from_environment = build_endpoint("m", read_settings(environment, tmp_path))
    assert (from_environment.base_url, from_environment.api_key.reveal()) == ("http://env/v1", "from-env")
    assert from_environment.timeout_s == 12.5


def test_the_openai_key_is_sent_only_to_the_openai_address(tmp_path: Path) -> None:
    def key(**environment: str) -> str:
        found = build_endpoint("m", read_settings({"OPENAI_API_KEY": "theirs", **environment}, tmp_path))
        return found.api_key.reveal()

    assert key() == key(OPENAI_BASE_URL="http://gateway/v1") == "theirs"
    assert key(TAKEBACK_BASE_URL="http://elsewhere/v1") == ""
    write_config(tmp_path, '[model]\nbase_url = "http://file/v1"\napi_key = "from-file"\n')
    assert key() == "from-file"


@pytest.mark.parametrize("key", ["sk-se\ncret", "sk-schlüssel", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_refused_unshown(tmp_path: Path, key: str) -> None:
    with pytest.raises(InputError, match="api_key") as caught:
        read_settings({"TAKEBACK_API_KEY": key}, tmp_path)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "http://localhost:80a/v1", "ftp://x/v1", "http://[::1/v1", "x"])
def test_an_address_that_cannot_be_one_is_refused_before_anything_is_sent(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="base_url"):
        read_settings({"TAKEBACK_BASE_URL": url}, tmp_path)


def test_a_named_config_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="TAKEBACK_CONFIG"):
        read_settings({"TAKEBACK_CONFIG": str(tmp_path / "gone.toml")}, tmp_path)


@pytest.mark.parametrize("text", ['base_url = "http://x/v1"\n', '[models]\nbase_url = "http://x/v1"\n'])
def test_settings_outside_their_table_are_an_error_not_ignored(tmp_path: Path, text: str) -> None:
    write_config(tmp_path, text)
    with pytest.raises(InputError, match=r"\[model\]"):
        read_settings({}, tmp_path)


@pytest.mark.parametrize(
    "line", ["concurrency = 0", "api_key = 5", 'schema_form = "xml"', "unknown = 1", "timeout_s = -1.0"]
)
def test_a_wrong_setting_names_the_file_and_the_field_but_not_the_key(tmp_path: Path, line: str) -> None:
    write_config(tmp_path, f"[model]\n{line}\n{'' if 'api_key' in line else f'api_key = {CANARY!r}'}\n")
    with pytest.raises(InputError, match=rf"config\.toml: model\.{line.split(maxsplit=1)[0]}") as caught:
        read_settings({}, tmp_path)
    assert CANARY not in str(caught.value)


def test_an_invalid_toml_file_is_reported(tmp_path: Path) -> None:
    write_config(tmp_path, "[model\n")
    with pytest.raises(InputError, match=r"config\.toml"):
        read_settings({}, tmp_path)


def test_settings_do_not_show_the_key(tmp_path: Path) -> None:
    settings = read_settings({"TAKEBACK_API_KEY": CANARY}, tmp_path)
    assert CANARY not in repr(settings) + repr(build_endpoint("m", settings))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("oracle", Spec("oracle")),
        ("portfolio", Spec("portfolio")),
        ("portfolio:openai:gpt-4o", Spec("portfolio", behind=Spec("openai", "gpt-4o"))),
        ("replay", Spec("replay")),
        ("replay:some/dir", Spec("replay", "some/dir")),
        ("openai:org/model:tag", Spec("openai", "org/model:tag")),
        ("local", Spec("local")),
        ("local:/m/x.gguf", Spec("local", "/m/x.gguf")),
    ],
)
def test_a_synthesizer_name_is_read_and_written_back(text: str, spec: Spec) -> None:
    assert parse_spec(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize(
    "text", ["", "openai", "openai:", "oracle:x", "gpt", "portfolio:oracle", "portfolio:portfolio"]
)
def test_another_name_is_an_error_that_lists_the_possibilities(text: str) -> None:
    with pytest.raises(InputError, match="openai:<model>"):
        parse_spec(text)


def test_the_local_model_without_weights_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="takeback model fetch"):
        open_model(Spec("local"), Surroundings({}, tmp_path, tmp_path))


def test_every_failed_try_of_an_endpoint_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://name:secret@127.0.0.1:{taken.getsockname()[1]}/v1"
    waits: list[float] = []
    monkeypatch.setattr("takeback.repair.models.settings.time.sleep", waits.append)
    environment = {"TAKEBACK_BASE_URL": url}
    told: list[str] = []
    model = open_model(parse_spec("openai:m"), Surroundings(environment, tmp_path, tmp_path, say=told.append))
    with pytest.raises(ServiceFault):
        model.complete(Request("m", (Message("user", "hello"),)))
    assert told[0].startswith("asking m at http://127.0.0.1:")
    assert [line.startswith("no answer yet from m at http://127.0.0.1:") for line in told[1:]] == [True] * len(waits)
    assert len(waits) == 4
    assert "secret" not in "".join(told)


class EchoModel:
    """A model of another package."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self.name = name
        say(f"opened {name}")

    def complete(self, request: Request) -> Reply:
        return Reply(request.messages[-1].content, "stop", Usage(1, 1))


def found(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    class Point:
        name = "echo"

        @staticmethod
        def load() -> object:
            if isinstance(loaded, Exception):
                raise loaded
            return loaded

    def points(group: str, name: str = "echo") -> list[type[Point]]:
        return [Point] if (group, name) == ("takeback.models", "echo") else []

    monkeypatch.setattr(chat, "find_entry_points", points)


def test_a_model_of_another_package_works_like_a_built_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(monkeypatch, Provider("<word>", required=True, open=lambda word, around: EchoModel(word, around.say)))
    told: list[str] = []
    spec = parse_spec("portfolio:echo:hello")
    assert spec.behind == Spec("echo", "hello")
    model = open_model(spec.behind, Surroundings({}, tmp_path, tmp_path, say=told.append))
    assert model.complete(Request("m", (Message("user", "hello"),))).text == "hello"
    assert told == ["opened hello"]
    assert list_provider_names() == ("replay", "openai", "echo")
    with pytest.raises(InputError, match=r"openai:<model> or echo:<word>"):
        parse_spec("echo")


@pytest.mark.parametrize("loaded", [ImportError("no such module"), EchoModel])
def test_a_broken_provider_is_reported(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    found(monkeypatch, loaded)
    with pytest.raises(InputError, match=r"the entry point echo of takeback\.models"):
        parse_spec("echo:x")


def test_the_packages_own_metadata_names_the_providers_it_brings() -> None:
    metadata = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert metadata["project"]["entry-points"]["takeback.models"] == chat.BUILT_IN


def test_a_broken_provider_does_not_hide_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, ImportError("no such module"))
    with pytest.raises(InputError, match=r"--synthesizer: found openai, expected .* or echo \(cannot be loaded\)"):
        parse_spec("openai")
