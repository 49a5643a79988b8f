"""A LangChain chat model that plays a script and notes what it was given; no network."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedChat(BaseChatModel):
    """`play` is called with the messages and returns the next one, or None for a plain answer."""

    label: str
    play: Any = None
    seen: Any
    tools: tuple[Any, ...] = ()
    given: Any = None

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self.model_copy(update={"tools": tuple(tools), "given": kwargs})

    def bind(self, **kwargs):
        return self.model_copy(update={"given": kwargs})

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        system = next((message.text for message in messages if isinstance(message, SystemMessage)), None)
        self.seen.append((self.label, system, [tool.name for tool in self.tools], self.given))
        message = self.play(messages) if self.play else None
        return ChatResult(generations=[ChatGeneration(message=message or AIMessage(f"{self.label} says {system}"))])


def call(name, number, **arguments):
    """A message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
