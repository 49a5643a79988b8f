"""Agents of frameworks as live harnesses in this process: LangChain, the OpenAI Agents SDK, pydantic-ai."""

from takeback.adapters.frameworks.adapter import AgentHarness
from takeback.adapters.frameworks.open_agents import open_langchain, open_openai_agents, open_pydantic_ai

__all__ = ["AgentHarness", "open_langchain", "open_openai_agents", "open_pydantic_ai"]
