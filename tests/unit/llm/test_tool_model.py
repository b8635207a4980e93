"""A conversation with tool calls, over both APIs: what is sent, what comes back, and everything that can go wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from metering import RecordingMeter
from model_server import ModelServer, Reply, answer, calls, drop, hang, status, text, too_long

from memory_pipeline.config import ModelConfig
from memory_pipeline.errors import AnswerError, BudgetHoldError, InterruptedRunError, ProviderError
from memory_pipeline.llm.faults import TooLongError
from memory_pipeline.llm.port import Tool, ToolCall, ToolModel, ToolResult, Turn
from memory_pipeline.llm.tool_model import OpenAIToolModel

LOOK = Tool(name="look", description="Look at one thing.", parameters={"name": {"type": "string"}})
MERGE = ("look", {"name": "merge"})


@pytest.fixture(params=["responses", "chat"])
def wire_api(request: pytest.FixtureRequest) -> str:
    """Each of the two APIs."""
    return str(request.param)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that answers prose unless it is told otherwise; nothing may have gone wrong inside it."""
    with ModelServer(default=text("That is all.")) as running:
        yield running
    assert running.faults == []


Build = Callable[..., OpenAIToolModel]


@pytest.fixture
def build(server: ModelServer, wire_api: str) -> Iterator[Build]:
    """Builds models on the server, which are closed at the end; their waits between tries take no time."""
    built: list[OpenAIToolModel] = []

    def build_one(**options: Any) -> OpenAIToolModel:
        model = ModelConfig(
            provider="openai",
            base_url=server.base_url,
            wire_api=wire_api,
            extract_model="small-1",
            consolidation_model=options.pop("consolidation_model", "large-1"),
            timeout_seconds=options.pop("timeout_seconds", 5.0),
        )
        built.append(OpenAIToolModel(model, **({"api_key": None, "sleep": lambda _: None} | options)))
        return built[-1]

    yield build_one
    for one in built:
        one.close()


def test_a_turn_brings_back_words_calls_and_cost(build: Build, server: ModelServer) -> None:
    """What the model calls, with its own arguments, and the tokens that the server reports."""
    server.script([calls(MERGE, ("look", "no JSON"), input_tokens=120, output_tokens=7)])
    model: ToolModel = build()
    turn = model.converse(system="Be brief.", tools=[LOOK]).say("Begin.")
    assert turn.calls == (
        ToolCall(call_id="call_1", name="look", arguments='{"name": "merge"}'),
        ToolCall(call_id="call_2", name="look", arguments="no JSON"),
    )
    assert (turn.input_tokens, turn.output_tokens, turn.requests) == (120, 7, 1)


def test_each_request_holds_the_whole_talk_and_asks_the_server_to_keep_none(
    build: Build, server: ModelServer, wire_api: str
) -> None:
    """Instructions, tools under a strict schema, each turn with its calls and results, but no hidden reasoning."""
    server.script([calls(MERGE)])
    talk = build().converse(system="Be brief.", tools=[LOOK])
    first = talk.say("Begin.")
    last = talk.give([ToolResult(call_id=first.calls[0].call_id, text="a thing")])
    assert last == Turn(text="That is all.", calls=(), input_tokens=100, output_tokens=10, requests=1)
    body = server.requests[1].body
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    function = {"name": "look", "description": "Look at one thing.", "parameters": schema, "strict": True}
    called = {"name": "look", "arguments": '{"name": "merge"}'}
    assert body["model"] == "large-1"
    if wire_api == "responses":
        assert body["store"] is False
        assert body["instructions"] == "Be brief."
        assert body["tools"] == [{"type": "function", **function}]
        assert body["input"] == [
            {"role": "user", "content": "Begin."},
            {"type": "function_call", "call_id": "call_1", **called},
            {"type": "function_call_output", "call_id": "call_1", "output": "a thing"},
        ]
    else:
        assert body["tools"] == [{"type": "function", "function": function}]
        assert body["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Begin."},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "call_1", "type": "function", "function": called}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "a thing"},
        ]


def test_without_a_model_of_its_own_the_model_of_phase_one_is_asked(build: Build, server: ModelServer) -> None:
    """``consolidation_model = ""`` is ``extract_model``."""
    build(consolidation_model="").converse(system="", tools=[LOOK]).say("Begin.")
    assert server.requests[0].body["model"] == "small-1"


def test_a_server_that_counts_no_tokens_is_estimated(build: Build, server: ModelServer) -> None:
    """A budget is never blind: words, tools and calls are counted."""
    server.script([calls(MERGE, input_tokens=None)])
    turn = build().converse(system="Be brief.", tools=[LOOK]).say("Begin. " * 30)
    assert turn.input_tokens > 70
    assert turn.output_tokens > 0


SHAPES: list[tuple[str, dict[str, Any]]] = [
    (
        "responses",
        {
            "output": [
                {"type": "function_call", "call_id": "a", "name": "look", "arguments": {"name": "x"}},
                {"type": "function_call", "call_id": "a", "name": None},
                {"type": "function_call"},
                "nonsense",
            ]
        },
    ),
    (
        "chat",
        {
            "choices": [
                {
                    "message": {
                        "tool_calls": [
                            {"id": "a", "function": {"name": "look", "arguments": {"name": "x"}}},
                            {"id": "a", "function": {"name": None}},
                            {"function": None},
                            "nonsense",
                        ]
                    }
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("wire_api", "envelope"), SHAPES, ids=["responses", "chat"], indirect=["wire_api"])
def test_misshapen_calls_are_put_up_with(build: Build, server: ModelServer, envelope: dict[str, Any]) -> None:
    """Arguments as an object, ids that repeat or lack, names that are none: each call keeps an id of its own."""
    server.script([answer({}, body=json.dumps(envelope))])
    found = build().converse(system="", tools=[LOOK]).say("Begin.").calls
    assert [call.name for call in found] == ["look", "", ""]
    assert found[0].arguments == '{"name": "x"}'
    assert len({call.call_id for call in found}) == 3


FAULTS: list[tuple[Reply, type[Exception], str]] = [
    (Reply(refusal="I can't help with that."), AnswerError, "refused"),
    (Reply(text="", finish="content_filter"), AnswerError, "filter"),
    (Reply(text="half", finish="length"), AnswerError, "cut off"),
    (Reply(body="[]"), AnswerError, "JSON object"),
    (Reply(body="{}"), AnswerError, "wire_api"),
    (status(400, message="no tools here"), AnswerError, "answered 400"),
    (status(401), ProviderError, "does not accept the key"),
    (status(404), ProviderError, "check model.consolidation_model"),
    (status(429, headers={"Retry-After": "600"}), ProviderError, "too many requests"),
    (status(500), ProviderError, "it failed"),
    (drop(), ProviderError, "can't be reached"),
    (hang(), ProviderError, "did not answer within"),
    (too_long(), TooLongError, "answered 400"),
    (Reply(body="x" * (8 * 1024 * 1024 + 1)), AnswerError, "larger than"),
]


@pytest.mark.parametrize(("reply", "kind", "words"), FAULTS, ids=[words for _, _, words in FAULTS])
def test_a_fault_is_the_same_error_as_in_an_extraction(
    build: Build, server: ModelServer, reply: Reply, kind: type[Exception], words: str
) -> None:
    """Transport, status, refusal and shape are judged by the same code, with a message that names what to do."""
    server.default = reply
    model = build(timeout_seconds=0.3 if reply.hang else 5.0)
    with pytest.raises(kind, match=words):
        model.converse(system="", tools=[LOOK]).say("Begin.")
    server.release()


def test_a_fault_that_passes_is_asked_again(build: Build, server: ModelServer) -> None:
    """A single 500 costs one more request, and the turn says so."""
    server.script([status(500), calls(MERGE)])
    assert build().converse(system="", tools=[LOOK]).say("Begin.").requests == 2


def test_the_budget_is_asked_before_each_request(build: Build, server: ModelServer) -> None:
    """A meter that raises stops the request."""
    meter = RecordingMeter(lambda: 0, error=BudgetHoldError("spent"))
    with pytest.raises(BudgetHoldError):
        build(meter=meter).converse(system="", tools=[LOOK]).say("Begin.")
    assert server.requests == []


def test_closing_ends_a_turn_that_is_awaited(build: Build, server: ModelServer) -> None:
    """Whoever waits is told that the run stops, long before the limit of the request."""
    server.default = hang()
    model = build(timeout_seconds=60.0)
    caught: list[Exception] = []

    def ask() -> None:
        try:
            model.converse(system="", tools=[LOOK]).say("Begin.")
        except InterruptedRunError as error:
            caught.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert server.wait_for_requests(1)
    model.close()
    asking.join(10)
    assert len(caught) == 1


def test_words_that_no_encoding_can_carry_are_replaced(build: Build, server: ModelServer) -> None:
    """A lone surrogate in a text or a result does not break the request."""
    server.script([calls(MERGE)])
    talk = build().converse(system="", tools=[LOOK])
    talk.say("half \udc88")
    talk.give([ToolResult(call_id="call_1", text="half \udc88")])
    assert "half \N{REPLACEMENT CHARACTER}" in server.requests[1].shown
