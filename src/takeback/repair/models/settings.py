"""From the environment and a config file to an endpoint: the one place that reads keys.

The file is TOML with one table, `[model]`. `TAKEBACK_*` variables come before it, `OPENAI_*` after it, and the key in
`OPENAI_API_KEY` goes to no other address than that of `OPENAI_BASE_URL` or OpenAI's own. A key is wrapped the moment
it is read and shown nowhere.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from takeback.errors import InputError
from takeback.repair.models.chat import ChatModel, Provider, Surroundings
from takeback.repair.models.openai import Endpoint, OpenAIModel, Secret, strip_credentials

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_AT_ONCE = 4


class ModelSettings(BaseModel):
    """The `[model]` table."""

    model_config = ConfigDict(extra="forbid", strict=True)

    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    schema_form: Literal["json_schema", "llguidance", "none"] = "json_schema"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = True
    timeout_s: float = Field(default=300.0, gt=0, le=7200)
    max_retries: int = Field(default=4, ge=0, le=10)
    concurrency: int | None = Field(default=None, ge=1, le=256)
    max_reply_chars: int = Field(default=65_536, ge=256, le=10_000_000)
    extra_body: dict[str, object] = Field(default_factory=dict)


def find_config_file(environment: Mapping[str, str], home: Path) -> Path:
    """Return where the config file is looked for."""
    if chosen := environment.get("TAKEBACK_CONFIG"):
        return Path(chosen)
    base = environment.get("XDG_CONFIG_HOME")
    return (Path(base) if base else home / ".config") / "takeback" / "config.toml"


def read_settings(environment: Mapping[str, str], home: Path) -> ModelSettings:
    """Return the settings of the file and the environment."""
    path = find_config_file(environment, home)
    try:
        settings = ModelSettings.model_validate(_read_table(path, must_exist="TAKEBACK_CONFIG" in environment))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: model.{place}", found=first["type"], expected=first["msg"]) from None
    base_url = environment.get("TAKEBACK_BASE_URL") or settings.base_url
    key = environment.get("TAKEBACK_API_KEY") or settings.api_key.get_secret_value()
    if not base_url:
        base_url = environment.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
        key = key or environment.get("OPENAI_API_KEY", "")
    return settings.model_copy(
        update={"base_url": _check_address(base_url), "api_key": SecretStr(_check_key(key.strip()))}
    )


def _read_table(path: Path, *, must_exist: bool) -> object:
    if not path.is_file():
        if must_exist:
            raise InputError("TAKEBACK_CONFIG", found=f"no file {path}", expected="a TOML file")
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(str(path), found=str(error), expected="a TOML file") from None
    unknown = sorted(set(table) - {"model"})
    if unknown:
        raise InputError(str(path), found=unknown[0], expected="one table, [model], and nothing beside it")
    return table.get("model", {})


def _check_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = text.rpartition("@")[2]
        raise InputError("base_url", found=shown, expected="an address such as http://127.0.0.1:8000/v1")
    return text


def _check_key(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise InputError("api_key", found="a character that no header can hold", expected="a key of printable ASCII")
    return text


def build_endpoint(model: str, settings: ModelSettings, at_once: int = DEFAULT_AT_ONCE) -> Endpoint:
    """Return the endpoint that serves `model`, for `at_once` requests unless the settings set a number."""
    return Endpoint(
        base_url=settings.base_url,
        api_key=Secret(settings.api_key.get_secret_value()),
        model=model,
        schema_form=settings.schema_form,
        limit_field=settings.limit_field,
        stream=settings.stream,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        concurrency=settings.concurrency or at_once,
        max_reply_chars=settings.max_reply_chars,
        extra_body=settings.extra_body,
    )


def _open_model(argument: str, around: Surroundings) -> ChatModel:
    endpoint = build_endpoint(
        argument, read_settings(around.environment, around.home), max(around.slots, DEFAULT_AT_ONCE)
    )
    shown = f"{endpoint.model} at {strip_credentials(endpoint.base_url)}"
    around.say(f"asking {shown}")

    def wait(seconds: float) -> None:
        around.say(f"no answer yet from {shown}; trying again in {seconds:g} s")
        time.sleep(seconds)

    return OpenAIModel(endpoint, sleep=wait)


PROVIDER = Provider("<model>", required=True, open=_open_model)
