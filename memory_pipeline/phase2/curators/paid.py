"""Paid conversations: each request is reserved in the ledger before it is sent, and booked after."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.budget import Tab
from memory_pipeline.llm.port import Conversation, Tool, ToolModel, ToolResult, Turn


class PaidToolModel:
    """A model whose every turn is booked on a tab; the tab's ``before_request`` is the hook for the inner one."""

    def __init__(self, inner: ToolModel, tab: Tab) -> None:
        self._inner = inner
        self._tab = tab

    def converse(self, *, system: str, tools: Sequence[Tool]) -> Conversation:
        """Begin a conversation; a turn that would pass a cap raises BudgetHoldError, and is not asked for."""
        return _PaidConversation(self._inner.converse(system=system, tools=tools), self._tab)

    def close(self) -> None:
        """Give up what is in flight."""
        self._inner.close()


class _PaidConversation:
    def __init__(self, inner: Conversation, tab: Tab) -> None:
        self._inner = inner
        self._tab = tab

    def say(self, text: str, *, deadline: float | None = None) -> Turn:
        return self._tab.pay(lambda: self._inner.say(text, deadline=deadline))

    def give(self, results: Sequence[ToolResult], *, deadline: float | None = None) -> Turn:
        return self._tab.pay(lambda: self._inner.give(results, deadline=deadline))
