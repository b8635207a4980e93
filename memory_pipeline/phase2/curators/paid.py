"""Paid conversations: the caps on one consolidation begin anew with each."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.budget import Tab
from memory_pipeline.llm.port import Conversation, Tool, ToolModel


class PaidToolModel:
    """A model whose every request passes the ledger first: the tab is the meter of the inner one."""

    def __init__(self, inner: ToolModel, tab: Tab) -> None:
        self._inner = inner
        self._tab = tab

    def converse(self, *, system: str, tools: Sequence[Tool]) -> Conversation:
        """Begin a conversation; a turn that would pass a cap raises BudgetHoldError or CapReachedError, unsent."""
        self._tab.begin()
        return self._inner.converse(system=system, tools=tools)

    def close(self) -> None:
        """Give up what is in flight."""
        self._inner.close()
