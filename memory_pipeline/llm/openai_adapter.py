"""The extractor that asks a model, through the official client, on any server that speaks one of its two APIs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import ModelConfig
from memory_pipeline.errors import AnswerError
from memory_pipeline.llm.answers import read_answer
from memory_pipeline.llm.client import ModelClient, Spent
from memory_pipeline.llm.faults import TOO_LONG_PREFIX, Asked, TooLongError, fault_of_limit, speaks_of_a_limit
from memory_pipeline.llm.port import Meter
from memory_pipeline.llm.rows import shorten, show_rows
from memory_pipeline.llm.templates import load_template
from memory_pipeline.llm.wire import SCHEMA_TEXT, answer_text, estimated_tokens, request_arguments, usage_of
from memory_pipeline.records import Evidence, ExtractionAnswer


class OpenAIExtractor:
    """Asks a model which entries a session holds; see ModelClient for how. Safe across threads."""

    def __init__(
        self,
        model: ModelConfig,
        *,
        api_key: str | None,
        meter: Meter | None = None,
        templates: Path | None = None,
        clock: Clock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        """Prepare to ask ``model.extract_model``; nothing is sent and the client is not imported yet.

        ``api_key`` is the value of the variable that ``model.api_key_env`` names. ``meter`` hears of each request
        before it is sent, and may forbid it, or allow a shorter answer. ``templates`` is the folder of the prompts,
        None for the bundled ones. ``sleep`` waits between tries; by default until ``close``.

        Raises:
            ConfigError: the key is missing for a remote server, or can't stand in a header.
            MemoryPipelineError: a prompt template is missing or wrong.
        """
        self._model = model
        self._client = ModelClient(
            model,
            api_key=api_key,
            meter=meter,
            clock=clock,
            monotonic=monotonic,
            sleep=sleep,
            jitter=jitter,
        )
        self._system = load_template("extract_system", folder=templates).fill()
        self._user = load_template("extract_user", USER_VARIABLES, folder=templates)

    @property
    def requests_sent(self) -> int:
        """How many requests were sent in all, those that failed included."""
        return self._client.requests_sent

    def extract(
        self, evidence: Evidence, *, deadline: float | None = None, model: str | None = None
    ) -> ExtractionAnswer:
        """Return what the model proposes to keep of ``evidence``; see ModelExtractor. No rows: no request.

        An input that is too long for the model is cut to about half and sent once more. Where the server doesn't
        say how many tokens it took, they are estimated, so that a budget is never blind.

        Raises:
            ProviderError: refused for a reason that lies with the provider, no answer in time, no connection.
            TooLongError: even cut to half it is too long for the model: it must not be sent again unchanged.
            AnswerError: this request was refused, or its answer can't be used.
            InterruptedRunError: ``close`` was called.
            BudgetHoldError, CapReachedError: the meter forbade a request.
        """
        if not evidence.rows:
            return ExtractionAnswer(rollout_summary="", rollout_slug="", tasks=())
        spent = Spent()
        model = model or self._model.extract_model
        try:
            return self._ask(evidence, model, deadline, spent)
        except TooLongError as error:
            shorter = shorten(evidence)
            if shorter is None:
                raise TooLongError(f"{TOO_LONG_PREFIX}, and it can't be cut: {error}"[:200]) from error
        try:
            return replace(self._ask(shorter, model, deadline, spent), saw_all_rows=False)
        except TooLongError as error:
            raise TooLongError(f"{TOO_LONG_PREFIX} even when cut to half: {error}"[:200]) from error

    def close(self) -> None:
        """Give up what is in flight and close the connections; further calls raise InterruptedRunError."""
        self._client.close()

    def __enter__(self) -> OpenAIExtractor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, evidence: Evidence, model: str, deadline: float | None, spent: Spent) -> ExtractionAnswer:
        shown = show_rows(evidence)
        user = self._user.fill(opening=shown.opening, closing=shown.closing, session=shown.session, rows=shown.rows)
        arguments = request_arguments(
            self._model.wire_api,
            model=model,
            system=self._system,
            user=user,
            max_output_tokens=self._client.most_output_tokens,
        )
        asked = self._client.asked("model.extract_model", model, f"{shown.session}\n{shown.rows}")
        envelope = self._client.ask(
            arguments, [self._system, user, SCHEMA_TEXT], asked=asked, deadline=deadline, spent=spent
        )
        return self._read(envelope, asked, spent)

    def _read(self, envelope: dict[str, Any], asked: Asked, spent: Spent) -> ExtractionAnswer:
        text = ""
        try:
            text = answer_text(self._model.wire_api, envelope)
            if usage_of(envelope).output_tokens is None:
                spent.output_tokens += estimated_tokens([text])
            answer = read_answer(text)
        except AnswerError as error:
            if speaks_of_a_limit(text):
                raise fault_of_limit(asked) from None
            raise spent.on(error) from None
        return ExtractionAnswer(
            rollout_summary=answer.rollout_summary,
            rollout_slug=answer.rollout_slug,
            tasks=answer.tasks,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            requests=spent.requests,
        )


#: What stands in the template of a request.
USER_VARIABLES = frozenset({"opening", "closing", "session", "rows"})
