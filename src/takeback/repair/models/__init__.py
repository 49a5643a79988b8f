"""Models behind the loop: the request and reply, endpoints, recordings."""

from takeback.repair.models.chat import PAPER, Account, ChatModel, Message, Reply, Request, Sampling, Usage
from takeback.repair.models.openai import Endpoint, OpenAIModel, Secret
from takeback.repair.models.replies import RecordingModel, ReplayModel

__all__ = [
    "PAPER",
    "Account",
    "ChatModel",
    "Endpoint",
    "Message",
    "OpenAIModel",
    "RecordingModel",
    "ReplayModel",
    "Reply",
    "Request",
    "Sampling",
    "Secret",
    "Usage",
]
