"""An agent's side of the Model Context Protocol: the SDK's own client, on the real command as its subprocess."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
from command import Machine
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from preloaded import words_to_start

T = TypeVar("T")
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a tool answered."""

    is_error: bool
    text: str

    @property
    def document(self) -> Any:
        """The JSON document that it is."""
        return json.loads(self.text)

    @property
    def statements(self) -> list[str]:
        """What the memories say that were told."""
        return [one["statement"] for one in self.document["memories"]]

    @property
    def error(self) -> str:
        """What went wrong."""
        return str(self.document["error"])


class Agent:
    """One connection."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> Told:
        """Call a tool."""
        return await self.give(tool, arguments)

    async def give(self, tool: str, arguments: Mapping[str, Any] | None) -> Told:
        """Call a tool with these very arguments."""
        result = await self.client.call_tool(tool, None if arguments is None else dict(arguments))
        (block,) = result.content
        return Told(is_error=bool(result.is_error), text=getattr(block, "text", ""))

    async def read(self, uri: str) -> str:
        """Read a resource."""
        (contents,) = (await self.client.read_resource(uri)).contents
        return str(getattr(contents, "text", ""))


def connect(
    machine: Machine,
    talk: Callable[[Agent], Awaitable[T]],
    *options: str,
    cwd: Path | None = None,
    mode: str = "auto",
    anew: bool = False,
) -> T:
    """Start the server in a folder, let an agent talk to it, and let it end; returns what the talk gave.

    ``anew`` starts an interpreter; else it is a fork (see preloaded.py), since the SDK takes long to load.
    """
    command, *words = machine.words("mcp", *options)
    if not anew:
        _, module, *words = words
        command, *words = words_to_start(module, words)

    async def whole() -> T:
        given = StdioServerParameters(
            command=command, args=words, env=machine.environment, cwd=str(cwd or machine.elsewhere)
        )
        with (machine.root / "server.log").open("a", encoding="utf-8") as errors, anyio.fail_after(_PATIENCE_SECONDS):
            async with Client(stdio_client(given, errlog=errors), mode=mode) as client:
                return await talk(Agent(client))

    return anyio.run(whole)
