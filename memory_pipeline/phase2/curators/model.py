"""The curator that asks a model: within hard caps, its proposals are carried out on a book that is not stored yet."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from memory_pipeline.config import Config
from memory_pipeline.errors import CapReachedError, ProviderError
from memory_pipeline.llm.port import Conversation, ToolModel, Turn
from memory_pipeline.llm.quoted import quote
from memory_pipeline.llm.templates import load_template
from memory_pipeline.phase2.curators.desk import TOOLS, Desk
from memory_pipeline.phase2.curators.material import FindThreads, Sight
from memory_pipeline.phase2.operations import MemoryBook, is_persons_word
from memory_pipeline.phase2.placing import Shelves
from memory_pipeline.records import Entry, Memory

logger = logging.getLogger(__name__)

#: How often it is looked whether the run was stopped while a model is awaited.
_LOOK_EVERY_SECONDS = 0.1
_BYTES_A_TOKEN = 3
#: What stands in the template of the first message.
OPENING_VARIABLES = frozenset({"opening", "closing", "material", "left_out"})


class ModelCurator:
    """Lets a model propose operations, once: its caps hold for one consolidation."""

    def __init__(
        self,
        config: Config,
        model: ToolModel,
        *,
        find_threads: FindThreads,
        waiting: frozenset[str],
        should_stop: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``waiting`` are entries that were looked at before: for them alone no model is asked.

        Raises:
            MemoryPipelineError: a prompt template is missing or wrong.
        """
        self._config = config
        self._model = model
        self._find_threads = find_threads
        self._waiting = waiting
        self._should_stop = should_stop
        self._monotonic = monotonic
        self._system = load_template("curate_system").fill()
        self._opening = load_template("curate_user", OPENING_VARIABLES)
        self._caps = _Caps(config, monotonic)
        self.was_asked = False
        self.notes: list[str] = []

    def __call__(self, book: MemoryBook, entries: Sequence[Entry], shelves: Shelves) -> frozenset[str]:
        """Ask the model about new entries; returns the ids of those that wait for a person. See rules.Consult.

        Without a new entry that may be sent, nothing is sent.

        Raises:
            CapReachedError: it went on past a cap.
            ProviderError, AnswerError: it could not be asked, refused, or did not answer in the shape of the API.
            BudgetHoldError: a paid turn would pass a cap of the budget.
            InterruptedRunError: the run was stopped.
        """
        new = [entry for entry in entries if entry.entry_id not in self._waiting]
        sight = Sight(book, shelves, self._find_threads, self._config.model.may_send)
        material = sight.material(new, most_bytes=self._most_bytes())
        if material.left_out and not material.entries:
            self.notes.append("no new entry fits into a request (phase2.curator_max_tokens): the rules did the work")
        if not material.entries:
            return frozenset()
        quoted = quote(material.text, name="memory")
        left_out = (
            f"{material.left_out} more new entries did not fit; the rules place them. " if material.left_out else ""
        )
        opening = self._opening.fill(
            opening=quoted.opening, closing=quoted.closing, material=quoted.text, left_out=left_out
        )
        desk = Desk(book, material.entries, shelves, sight)
        self.was_asked = True
        with self._closing_when_stopped():
            self._converse(self._model.converse(system=self._system, tools=TOOLS), opening, desk)
        self._tell(desk)
        return frozenset(desk.set_aside)

    def _converse(self, talk: Conversation, opening: str, desk: Desk) -> None:
        turn = self._ask(lambda: talk.say(opening, deadline=self._caps.deadline))
        while turn.calls:
            results = desk.carry_out(turn.calls)
            if desk.has_finished:
                return
            turn = self._ask(partial(talk.give, results, deadline=self._caps.deadline))

    def _ask(self, ask: Callable[[], Turn]) -> Turn:
        self._caps.check()
        try:
            turn = ask()
        except ProviderError:
            self._caps.check_time()  # cut off by our own cap, it is no fault of the provider
            raise
        self._caps.turns += 1
        return turn

    def _most_bytes(self) -> int:
        # Each turn sends the whole talk again, so the beginning takes a small part of what a consolidation may cost.
        tokens = min(self._config.model.context_window_tokens // 4, self._config.phase2.curator_max_tokens // 10)
        return tokens * _BYTES_A_TOKEN

    @contextmanager
    def _closing_when_stopped(self) -> Iterator[None]:
        """Give up what is in flight as soon as the run is stopped."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_LOOK_EVERY_SECONDS):
                if self._should_stop():
                    self._model.close()
                    return

        watcher = threading.Thread(target=watch, name="curator-stop", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _tell(self, desk: Desk) -> None:
        if not desk.accepted:
            self.notes.append("the model proposed nothing that could be accepted: the rules did all of the work")
        self.notes += [_contradiction(memory_id, other) for memory_id, other in desk.flags]
        logger.info(
            "curated",
            extra={
                "action": "curate",
                "outcome": f"{desk.accepted} accepted, {desk.refused} refused, {self._caps.turns} turns",
            },
        )


def _contradiction(memory_id: str, other: Memory | Entry) -> str:
    if isinstance(other, Memory):
        return (
            f"the model sees a contradiction between {memory_id} and {other.memory_id}; look at both with "
            "`memory-pipeline memory why`, and retire what is wrong"
        )
    waits = "" if is_persons_word(other) else ", which waits"
    return (
        f"the model sees a contradiction between {memory_id} and a statement of thread {other.thread_id}{waits}; look "
        "at them with `memory-pipeline memory why` and `memory-pipeline threads show`, and correct what is wrong"
    )


class _Caps:
    """How many turns and how long a model may go on in one consolidation; its requests and tokens are metered."""

    def __init__(self, config: Config, monotonic: Callable[[], float]) -> None:
        self._limits = config.phase2
        self._monotonic = monotonic
        self.deadline = monotonic() + config.phase2.curator_max_seconds
        self.turns = 0

    def check(self) -> None:
        """Raise CapReachedError if there is no room for one more turn."""
        if self.turns >= self._limits.curator_max_turns:
            raise CapReachedError(
                f"the model did not finish within phase2.curator_max_turns ({self.turns}); raise it, or use rules"
            )
        self.check_time()

    def check_time(self) -> None:
        """Raise CapReachedError if no time is left."""
        if self._monotonic() >= self.deadline:
            seconds = self._limits.curator_max_seconds
            raise CapReachedError(
                f"the model did not finish within phase2.curator_max_seconds ({seconds:g}); raise it, or use rules"
            )
