"""What a server's refusals mean, and that a message tells nothing of the session."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.errors import AnswerError, ModelError, ProviderError
from memory_pipeline.llm.faults import (
    MESSAGE_MAX_CHARS,
    Asked,
    Reply,
    TooLongError,
    fault_of_error_object,
    fault_of_status,
    retry_after_seconds,
)
from memory_pipeline.llm.retry import PassingError

WORDS = "[1 user] Rename the zebra table and use hunter2fake"
ASKED = Asked(server="models.example.org", model="small-1", api_key_env="SAMPLE_KEY", words=WORDS)


def reply(status: int, error: Any = None, **headers: str) -> Reply:
    """Make a reply with an error object."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, headers=named, body=json.dumps({"error": error or {}}).encode())


@pytest.mark.parametrize(
    ("status", "kind", "suspect"),
    [
        (302, ProviderError, False),
        (401, ProviderError, False),
        (402, ProviderError, False),
        (403, ProviderError, False),
        (404, ProviderError, False),
        (405, ProviderError, False),
        (408, ProviderError, True),
        (429, ProviderError, False),
        (500, PassingError, True),
        (503, PassingError, True),
        (529, PassingError, True),
        (400, AnswerError, False),
        (422, AnswerError, False),
        (413, TooLongError, False),
    ],
)
def test_each_status_is_a_fault_of_the_provider_or_of_the_thread(
    status: int, kind: type[ModelError], suspect: bool
) -> None:
    """Refused requests use up the thread's tries; everything else lets the provider rest."""
    error = fault_of_status(reply(status), ASKED, now=0)
    assert type(error) is kind
    assert str(status) in str(error)
    assert "models.example.org" in str(error)
    assert getattr(error, "per_thread_suspect", False) is suspect


@pytest.mark.parametrize(
    ("status", "headers", "kind", "seconds"),
    [
        (429, {}, ProviderError, None),
        (429, {"retry_after": "3"}, PassingError, 3.0),
        (429, {"retry_after": "3600"}, ProviderError, 3600.0),
        (503, {"retry_after": "3600"}, ProviderError, 3600.0),
        (503, {"retry_after": "2"}, PassingError, 2.0),
        (401, {"retry_after": "2"}, ProviderError, 2.0),
    ],
)
def test_what_the_provider_asks_for_decides_whether_it_is_asked_again_at_once(
    status: int, headers: dict[str, str], kind: type[ProviderError], seconds: float | None
) -> None:
    """A short wait passes; a long one is told to the caller."""
    error = fault_of_status(reply(status, **headers), ASKED, now=0)
    assert type(error) is kind
    assert isinstance(error, ProviderError)
    assert error.retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "2"}, 2.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:14:20 GMT"}, 60.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:14:20"}, 60.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0.0),
        ({"retry-after": "Tue, 99 Nov 2023 99:00:00 GMT"}, None),
        ({"retry-after": "1e300"}, 31 * 86_400.0),
    ],
)
def test_retry_after_is_read_in_all_its_spellings(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds and dates count; the past is now; nonsense says nothing."""
    assert retry_after_seconds(headers, now=1_700_000_000.0) == seconds


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "context_length_exceeded", "message": "Too big."}),
        (400, {"message": "This model's maximum context length is 8192 tokens."}),
        (400, {"message": "prompt is too long: 211000 tokens > 200000 maximum"}),
        (400, {"type": "exceed_context_size_error", "message": "request (9000 tokens) exceeds the available context"}),
        (400, {"message": "Input is too long for requested model."}),
        (400, {"message": "Please reduce the length of the messages."}),
        (400, {"message": "The input token count exceeds the maximum number of tokens allowed"}),
        (422, {"message": "too many tokens in the prompt"}),
        (413, {"message": "payload"}),
        (429, {"code": "rate_limit_exceeded", "message": "Request too large for small-1: limit 30000"}),
    ],
)
def test_the_usual_spellings_of_too_long_are_known(status: int, error: dict[str, str]) -> None:
    """An input that doesn't fit is told from other refusals, however the server puts it."""
    assert isinstance(fault_of_status(reply(status, error), ASKED, now=0), TooLongError)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Invalid schema for response_format"},
        {"message": "Unsupported parameter: max_completion_tokens", "code": "unsupported_parameter"},
        {"message": "max_tokens must be at least 1"},
        "invalid request",
        ["a", "list"],
        None,
    ],
)
def test_other_refusals_are_not_taken_for_too_long(error: Any) -> None:
    """A request that is wrong for another reason isn't cut and sent again."""
    assert type(fault_of_status(reply(400, error), ASKED, now=0)) is AnswerError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow down"}, ProviderError),
        ({"code": 502, "message": "Bad gateway"}, PassingError),
        ({"code": "rate_limit_exceeded"}, ProviderError),
        ({"code": "server_error"}, PassingError),
        ({"message": "Internal error"}, PassingError),
        ({"type": "insufficient_quota"}, ProviderError),
        ({"code": "context_length_exceeded"}, TooLongError),
        ({"code": "invalid_prompt"}, AnswerError),
        ("upstream is unavailable", PassingError),
        (True, AnswerError),
    ],
)
def test_an_error_object_inside_a_success_is_the_fault_it_names(error: Any, kind: type[ModelError]) -> None:
    """Servers that pass on another one's faults under status 200 are understood."""
    assert type(fault_of_error_object(error, ASKED)) is kind


def test_a_servers_own_reason_is_told() -> None:
    """What the server says helps a person, as far as it is not from the session."""
    error = fault_of_status(reply(400, {"message": "response_format is not supported"}), ASKED, now=0)
    assert "response_format is not supported" in str(error)


@pytest.mark.parametrize(
    "said",
    [
        f"Can't read: {WORDS}",
        "Unexpected 'zebra' in the messages",
        "Unexpected zeb",
        "bad token hunter2fake.",
        "bad token HUNTER2FAKE",
    ],
)
def test_no_word_of_the_session_stands_in_a_message(said: str) -> None:
    """A server that quotes what it refuses does not bring the log's words into our log."""
    message = str(fault_of_status(reply(400, {"message": said, "code": "zebra"}), ASKED, now=0)).lower()
    assert not any(word in message for word in ("zeb", "hunter2", "rename", "table"))


def test_no_secret_stands_in_a_message() -> None:
    """A server that repeats the key it refuses does not bring it into our log."""
    key = "sk-proj-" + "FAKE0fake1" * 5
    message = str(fault_of_status(reply(401, {"message": f"Incorrect API key provided: {key}"}), ASKED, now=0))
    assert "FAKE0" not in message
    assert "SAMPLE_KEY" in message


@given(st.text(max_size=900), st.sampled_from([302, 400, 404, 429, 500]))
@settings(max_examples=100, deadline=None)
def test_every_message_is_one_short_line(said: str, status: int) -> None:
    """Whatever a server says, a message fits a table and a log line."""
    message = str(fault_of_status(reply(status, {"message": said}), ASKED, now=0))
    assert len(message) <= MESSAGE_MAX_CHARS
    assert len(message.splitlines()) == 1
