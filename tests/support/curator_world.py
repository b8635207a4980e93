"""A world in which a model curates: a store, a workspace, a scripted server, and what the model saw and was told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from model_server import ModelServer, Reply, Request, calls
from msgspec.structs import replace
from phase2_world import World

from memory_pipeline.budget import Tab, curator_caps
from memory_pipeline.config import BudgetConfig, ModelConfig
from memory_pipeline.llm.tool_model import OpenAIToolModel
from memory_pipeline.phase2.curators.paid import PaidToolModel
from memory_pipeline.phase2.lint import lint
from memory_pipeline.records import Phase2Counts

FINISH = calls(("finish", {}))
QUOTED = re.compile(r"<<<(?P<mark>[a-z]+-[0-9a-f]{16})\n(?P<text>.*?)\n(?P=mark)>>>", re.DOTALL)


class CuratorWorld(World):
    """A World whose consolidations ask a model on the given server, over one of the two APIs."""

    def __init__(
        self, folder: Path, server: ModelServer, wire_api: str, *, timeout_seconds: float = 5.0, **phase2: Any
    ) -> None:
        super().__init__(folder, **phase2)
        self.server = server
        model = ModelConfig(
            provider="openai",
            base_url=server.base_url,
            wire_api=wire_api,
            extract_model="small-1",
            timeout_seconds=timeout_seconds,
        )
        self.config = replace(self.config, model=model)

    def curate(self, *, should_stop: Callable[[], bool] = lambda: False, **phase2: Any) -> Phase2Counts:
        """Run phase two with the model."""
        limited = replace(
            self.config.phase2, **{key: value for key, value in phase2.items() if key.startswith("curator_max_")}
        )
        tab = Tab(
            self.config,
            self.store,
            self.clock,
            caps=curator_caps(replace(self.config, phase2=limited)),
            phase="phase2",
            what="the curating model",
            model="small-1",
        )
        inner = OpenAIToolModel(
            self.config.model,
            api_key=None,
            meter=tab,
            clock=self.clock,
            sleep=lambda _seconds: None,
        )
        with inner:
            return self.run(tool_model=PaidToolModel(inner, tab), should_stop=should_stop, **phase2)

    def limit_tokens(self, daily_tokens: int) -> None:
        """Set a cap on paid tokens."""
        self.config = replace(self.config, budget=BudgetConfig(daily_tokens=daily_tokens))

    def faults(self) -> list[str]:
        """What ``memory lint`` finds."""
        return [f"{one.place}: {one.rule}: {one.problem}" for one in lint(self.config, self.store)]


def documents(request: Request) -> Iterator[dict[str, Any]]:
    """Everything that the request quotes, as JSON objects."""
    for match in QUOTED.finditer(request.shown):
        for line in match["text"].split("\n"):
            if line:
                yield json.loads(line)


def outside_quotes(request: Request) -> str:
    """Everything that the request says by itself: instructions, and what is neither quoted nor the model's own."""
    return QUOTED.sub("", request.shown)


def id_of(request: Request, words: str) -> str:
    """The id of the new entry or memory that holds these words, as the model reads it in the request."""
    found = [document for document in documents(request) if words in document.get("statement", "")]
    (first, *_) = [one.get("new_entry") or one.get("memory") for one in found]
    return str(first)


def proposes(*wanted: tuple[str, Mapping[str, str]]) -> Callable[[Request], Reply]:
    """Call tools; an argument ``~words`` stands for the id of what holds these words."""

    def reply(request: Request) -> Reply:
        return calls(
            *((name, {key: _resolved(request, value) for key, value in given.items()}) for name, given in wanted)
        )

    return reply


def _resolved(request: Request, value: Any) -> Any:
    if isinstance(value, list):
        return [_resolved(request, item) for item in value]
    return id_of(request, value[1:]) if isinstance(value, str) and value.startswith("~") else value
