"""A model that calls tools, through the official client, on any server that speaks one of its two APIs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from memory_pipeline.clock import Clock
from memory_pipeline.config import ModelConfig
from memory_pipeline.errors import AnswerError
from memory_pipeline.llm.client import ModelClient, Spent
from memory_pipeline.llm.faults import fault_of_limit, speaks_of_a_limit
from memory_pipeline.llm.port import Conversation, Meter, Tool, ToolCall, ToolResult, Turn
from memory_pipeline.llm.quoted import without_surrogates
from memory_pipeline.llm.wire import Said, answer_text, conversation_arguments, estimated_tokens, tool_calls, usage_of


class OpenAIToolModel:
    """Talks with a model; see ModelClient for how requests are sent, and ToolModel."""

    def __init__(
        self,
        model: ModelConfig,
        *,
        api_key: str | None,
        meter: Meter | None = None,
        clock: Clock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        """Prepare to talk with ``model.curating_model``; the arguments are those of OpenAIExtractor.

        Raises:
            ConfigError: the key is missing for a remote server, or can't stand in a header.
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

    @property
    def requests_sent(self) -> int:
        """How many requests were sent in all, those that failed included."""
        return self._client.requests_sent

    def converse(self, *, system: str, tools: Sequence[Tool]) -> Conversation:
        """Begin a conversation; see ToolModel."""
        return _Talk(self._model, self._client, system, tools)

    def close(self) -> None:
        """Give up what is in flight and close the connections; further calls raise InterruptedRunError."""
        self._client.close()

    def __enter__(self) -> OpenAIToolModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Talk:
    def __init__(self, model: ModelConfig, client: ModelClient, system: str, tools: Sequence[Tool]) -> None:
        self._model = model
        self._client = client
        self._system = system
        self._tools = tools
        self._said: list[Said] = []

    def say(self, text: str, *, deadline: float | None = None) -> Turn:
        self._said.append(without_surrogates(text))
        return self._next_turn(deadline)

    def give(self, results: Sequence[ToolResult], *, deadline: float | None = None) -> Turn:
        self._said += [ToolResult(call_id=one.call_id, text=without_surrogates(one.text)) for one in results]
        return self._next_turn(deadline)

    def _next_turn(self, deadline: float | None) -> Turn:
        words = [text for one in self._said for text in _texts(one)]
        arguments = conversation_arguments(
            self._model.wire_api,
            model=self._model.curating_model,
            system=self._system,
            tools=self._tools,
            said=self._said,
            max_output_tokens=self._client.most_output_tokens,
        )
        asked = self._client.asked(self._model.curating_model_key, self._model.curating_model, "\n".join(words))
        spent = Spent()
        envelope = self._client.ask(
            arguments,
            [self._system, *(f"{tool.description}{tool.parameters}" for tool in self._tools), *words],
            asked=asked,
            deadline=deadline,
            spent=spent,
        )
        try:
            text = without_surrogates(answer_text(self._model.wire_api, envelope))
        except AnswerError as error:
            raise spent.on(error) from None
        calls = tuple(map(_clean, tool_calls(self._model.wire_api, envelope)))
        if not calls and len(self._said) == 1 and speaks_of_a_limit(text):
            raise fault_of_limit(asked)
        if usage_of(envelope).output_tokens is None:
            spent.output_tokens += estimated_tokens([text, *(call.arguments for call in calls)])
        self._said.append((text, calls))
        return Turn(
            text=text,
            calls=calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            requests=spent.requests,
        )


def _texts(said: Said) -> list[str]:
    if isinstance(said, str):
        return [said]
    if isinstance(said, ToolResult):
        return [said.text]
    text, calls = said
    return [text, *(call.arguments for call in calls)]


def _clean(call: ToolCall) -> ToolCall:
    return ToolCall(
        call_id=without_surrogates(call.call_id),
        name=without_surrogates(call.name),
        arguments=without_surrogates(call.arguments),
    )
