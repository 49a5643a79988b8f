"""Agents of frameworks as live harnesses (LangChain, OpenAI Agents SDK, pydantic-ai), and checks for evolvers."""

from takeback.integrations.framework_agent import AgentHarness, open_langchain, open_openai_agents, open_pydantic_ai

__all__ = ["AgentHarness", "open_langchain", "open_openai_agents", "open_pydantic_ai"]
