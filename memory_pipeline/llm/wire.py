"""The two wire APIs: what a request holds, and where the answer and its cost stand in a reply."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from memory_pipeline.errors import AnswerError
from memory_pipeline.llm.port import Tool, ToolCall, ToolResult
from memory_pipeline.records import EntryKind, TaskOutcome
from memory_pipeline.tokens import byte_count

RESPONSES = "responses"

SCHEMA_NAME = "extraction"

#: More than any call takes. A server may name a number that no database and no JSON document holds.
_MOST_TOKENS = 1 << 40


def _strict_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


#: The one JSON schema of an answer, within what strict mode allows: every key required, no further ones.
ANSWER_SCHEMA: Mapping[str, Any] = _strict_object(
    {
        "rollout_summary": {"type": "string"},
        "rollout_slug": {"type": "string"},
        "tasks": {
            "type": "array",
            "items": _strict_object(
                {
                    "title": {"type": "string"},
                    "outcome": {"type": "string", "enum": [outcome.value for outcome in TaskOutcome]},
                    "entries": {
                        "type": "array",
                        "items": _strict_object(
                            {
                                "kind": {"type": "string", "enum": [kind.value for kind in EntryKind]},
                                "scope": {"type": "string", "enum": ["user", "project"]},
                                "condition": {"type": "string"},
                                "statement": {"type": "string"},
                                "evidence": {"type": "array", "items": {"type": "integer"}},
                            }
                        ),
                    },
                }
            ),
        },
    }
)

#: The schema as it goes over the wire, for an estimate of what it takes.
SCHEMA_TEXT = json.dumps(ANSWER_SCHEMA)


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens that a reply says it cost; None where it says nothing."""

    input_tokens: int | None
    output_tokens: int | None


def path_of(wire_api: str) -> str:
    """Return where requests of an API go, below the server's base URL."""
    return "/responses" if wire_api == RESPONSES else "/chat/completions"


def request_arguments(wire_api: str, *, model: str, system: str, user: str, max_output_tokens: int) -> dict[str, Any]:
    """Return what a request of either API holds."""
    if wire_api == RESPONSES:
        text_format = {"type": "json_schema", "name": SCHEMA_NAME, "strict": True, "schema": ANSWER_SCHEMA}
        return {
            "model": model,
            "instructions": system,
            "input": [{"role": "user", "content": user}],
            "text": {"format": text_format},
            "max_output_tokens": max_output_tokens,
            "store": False,
        }
    json_schema = {"name": SCHEMA_NAME, "strict": True, "schema": ANSWER_SCHEMA}
    return {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "response_format": {"type": "json_schema", "json_schema": json_schema},
        "max_completion_tokens": max_output_tokens,
    }


#: One item of a conversation: a text that we said, what the model said and called, or a result that we gave.
Said = str | tuple[str, tuple[ToolCall, ...]] | ToolResult


def conversation_arguments(
    wire_api: str,
    *,
    model: str,
    system: str,
    tools: Sequence[Tool],
    said: Sequence[Said],
    max_output_tokens: int,
) -> dict[str, Any]:
    """Return what the request for the next turn holds; the whole talk is sent, none is stored there.

    A model's hidden reasoning is not sent back: servers that store nothing can't be relied on to know it.
    """
    if wire_api == RESPONSES:
        return {
            "model": model,
            "instructions": system,
            "input": [item for one in said for item in _responses_items(one)],
            "tools": [{"type": "function", **_function(tool)} for tool in tools],
            "max_output_tokens": max_output_tokens,
            "store": False,
        }
    return {
        "model": model,
        "messages": [{"role": "system", "content": system}, *map(_chat_message, said)],
        "tools": [{"type": "function", "function": _function(tool)} for tool in tools],
        "max_completion_tokens": max_output_tokens,
    }


def _function(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": _strict_object(tool.parameters),
        "strict": True,
    }


def _responses_items(said: Said) -> Iterable[dict[str, Any]]:
    if isinstance(said, str):
        yield {"role": "user", "content": said}
    elif isinstance(said, ToolResult):
        yield {"type": "function_call_output", "call_id": said.call_id, "output": said.text}
    else:
        text, calls = said
        if text:
            yield {"role": "assistant", "content": text}
        for call in calls:
            yield {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}


def _chat_message(said: Said) -> dict[str, Any]:
    if isinstance(said, str):
        return {"role": "user", "content": said}
    if isinstance(said, ToolResult):
        return {"role": "tool", "tool_call_id": said.call_id, "content": said.text}
    text, calls = said
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return message


def tool_calls(wire_api: str, reply: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of a turn, in order; a call without an id of its own, or with another's, is given one."""
    written: list[tuple[Any, Any]]
    if wire_api == RESPONSES:
        written = [
            (item.get("call_id"), item) for item in _tables(reply.get("output")) if item.get("type") == "function_call"
        ]
    else:
        message = next((choice.get("message") for choice in _tables(reply.get("choices"))), None)
        calls = _tables(message.get("tool_calls")) if isinstance(message, dict) else []
        written = [(call.get("id"), call.get("function")) for call in calls]
    found: dict[str, ToolCall] = {}
    for call_id, function in written:
        table = function if isinstance(function, dict) else {}
        name, arguments = table.get("name"), table.get("arguments")
        usable = call_id if isinstance(call_id, str) and call_id and call_id not in found else f"call_{len(found) + 1}"
        found[usable] = ToolCall(
            call_id=usable,
            name=name if isinstance(name, str) else "",
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
    return tuple(found.values())


def usage_of(reply: Mapping[str, Any]) -> Usage:
    """Return the tokens that a reply of either API reports."""
    usage = reply.get("usage")
    table = usage if isinstance(usage, dict) else {}
    return Usage(
        input_tokens=_count(table, "input_tokens", "prompt_tokens"),
        output_tokens=_count(table, "output_tokens", "completion_tokens"),
    )


def answer_text(wire_api: str, reply: Mapping[str, Any]) -> str:
    """Return the text that the model wrote.

    Raises:
        AnswerError: cut off, filtered, refused, or not finished; the shape of the reply is not that of the API.
    """
    return _responses_text(reply) if wire_api == RESPONSES else _chat_text(reply)


def _count(table: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = table.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return min(value, _MOST_TOKENS)
    return None


def _responses_text(reply: Mapping[str, Any]) -> str:
    parts = [part for item in _tables(reply.get("output")) for part in _tables(item.get("content"))]
    _refuse_unfinished(reply)
    if any(part.get("type") == "refusal" for part in parts):
        raise AnswerError("the model refused to answer")
    if not isinstance(reply.get("output"), list):
        raise AnswerError("the reply has no output; does the server speak the Responses API? See model.wire_api")
    return "".join(part["text"] for part in parts if _is_text(part))


def _refuse_unfinished(reply: Mapping[str, Any]) -> None:
    status = reply.get("status")
    if status in (None, "completed"):
        return
    details = reply.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if status == "incomplete" and reason == "content_filter":
        raise AnswerError("the provider's content filter stopped the answer")
    if status == "incomplete":
        raise AnswerError("the model's answer is cut off: it reached the limit of output tokens")
    raise AnswerError("the provider did not finish the answer")


def _chat_text(reply: Mapping[str, Any]) -> str:
    choices = _tables(reply.get("choices"))
    choice = next(iter(choices), None)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise AnswerError("the reply has no choices; does the server speak chat completions? See model.wire_api")
    reason = choice.get("finish_reason")
    if reason == "content_filter":
        raise AnswerError("the provider's content filter stopped the answer")
    if reason in ("length", "max_tokens"):
        raise AnswerError("the model's answer is cut off: it reached the limit of output tokens")
    if message.get("refusal"):
        raise AnswerError("the model refused to answer")
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in _tables(content) if _is_text(part))


def _tables(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type") in ("output_text", "text") and isinstance(part.get("text"), str)


def estimated_tokens(texts: Iterable[str]) -> int:
    """Return about how many tokens texts have: one for three bytes of UTF-8, which rather overstates English."""
    return -(-sum(map(byte_count, texts)) // 3)


def counted_tokens(texts: Iterable[str | bytes]) -> int:
    """Return how many tokens texts have at the least, as far as we can tell: one for four bytes of UTF-8."""
    return sum(len(text) if isinstance(text, bytes) else byte_count(text) for text in texts) // 4


def words_of(reply: Mapping[str, Any]) -> list[str]:
    """Return everything in a reply of either API that its model wrote: text, refusals, reasoning told, arguments."""
    found: list[str] = []
    waiting: list[Any] = [reply.get("output"), reply.get("choices")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            found += [text for key, text in value.items() if key in _WRITTEN and isinstance(text, str)]
            waiting += value.values()
    return found


_WRITTEN = frozenset({"text", "content", "refusal", "reasoning", "reasoning_content", "name", "arguments"})


def limit_answer(arguments: Mapping[str, Any], most_output_tokens: int) -> dict[str, Any]:
    """Return the arguments of a request with another limit on its answer."""
    key = "max_output_tokens" if "max_output_tokens" in arguments else "max_completion_tokens"
    return {**arguments, key: most_output_tokens}
