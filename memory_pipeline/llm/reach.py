"""Whether the model can be asked at all: its server answers, takes the key and knows the models. No words are sent."""

from __future__ import annotations

from memory_pipeline.clock import Clock
from memory_pipeline.config import ModelConfig
from memory_pipeline.llm.client import ModelClient


def offered_models(model: ModelConfig, *, api_key: str | None, clock: Clock, seconds: float) -> list[str]:
    """Ask the server for the names of its models.

    Raises:
        ConfigError: the key is missing for a remote server, or the address names no host.
        ModelError: the server refused, can't be reached, or answered something else.
    """
    client = ModelClient(model, api_key=api_key, clock=clock)
    try:
        return client.list_models(seconds=seconds)
    finally:
        client.close()
