"""What a server's refusal means: one line for a person, without a word of the session, and the right error class."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from msgspec import Struct

from memory_pipeline.clock import LONGEST_WAIT_SECONDS as LONGEST_REST_SECONDS
from memory_pipeline.errors import AnswerError, ModelError, ProviderError
from memory_pipeline.llm.retry import LONGEST_WAIT_SECONDS, PassingError
from memory_pipeline.redact import redact

MESSAGE_MAX_CHARS = 200


#: How the message of a session begins that was too long, so that its next try sends less of it.
TOO_LONG_PREFIX = "too long"


class TooLongError(AnswerError):
    """The input does not fit into the model. The same input must not be sent again."""


class Reply(Struct, frozen=True, kw_only=True):
    """What came back over the wire. Header names are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_html(self) -> bool:
        """Whether a page for people came back: from a proxy, a login, or a wrong address."""
        return "html" in self.headers.get("content-type", "").lower() or self.body.lstrip()[:1] == b"<"

    def json(self) -> Any:
        """Return the body as JSON, or None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Asked(Struct, frozen=True, kw_only=True):
    """Whom we asked, with what: for the message, and so that the session's words can be kept out of it."""

    server: str  # host and port, never the whole address: that may hold a password
    model: str
    api_key_env: str
    model_key: str = "model.extract_model"  # the key of the configuration that names the model
    words: str  # the session's text as it was sent


def fault_of_status(reply: Reply, asked: Asked, *, now: float) -> ModelError:
    """Return the error that a reply other than 2xx stands for; ``now`` is in seconds since the epoch."""
    said = _said(reply.json())
    return _fault(reply.status, said, asked, retry_after_seconds=retry_after_seconds(reply.headers, now=now))


def fault_of_error_object(error: Any, asked: Asked) -> ModelError:
    """Return the error that an error object inside a 200 stands for; some servers pass on faults that way."""
    said = _said({"error": error})
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code <= 599:
        return _fault(code, said, asked)
    if _TOO_LONG.search(said):
        return _fault(400, said, asked)
    for pattern, status in _STATUS_OF_WORDS:
        if pattern.search(said):
            return _fault(status, said, asked)
    return _fault(400, said, asked)


def fault_of_network(error: BaseException, asked: Asked) -> PassingError:
    """Return the error for a connection that could not be made, or broke."""
    return PassingError(_message(asked, f"{asked.server} can't be reached: {_reason(error)}"))


def fault_of_silence(seconds: float, asked: Asked) -> ProviderError:
    """Return the error for an answer that did not come, or did not end, within ``seconds``."""
    return ProviderError(
        _message(asked, f"{asked.server} did not answer within {max(seconds, 0):.3g} s"), per_thread_suspect=True
    )


def fault_of_html(reply: Reply, asked: Asked) -> ProviderError:
    """Return the error for a web page where an answer should be."""
    return ProviderError(
        _message(asked, f"{asked.server} answered {reply.status} with a web page; check model.base_url")
    )


def fault_of_limit(asked: Asked) -> ProviderError:
    """Return the error for words about a limit of ours where an answer should be."""
    return ProviderError(
        _message(asked, f"{asked.server} answered with words about a spending or usage limit, not with an answer"),
        per_thread_suspect=True,  # a session may have put these words into the model's mouth
    )


def speaks_of_a_limit(text: str) -> bool:
    """Whether all that a model wrote is a short notice that an account's limit or credit is used up."""
    return len(text) <= _NOTICE_MAX_CHARS and _LIMIT_NOTICE.search(text) is not None


_NOTICE_MAX_CHARS = 500
_KIND_OF_LIMIT = (
    r"(?:spend(?:ing)?|usage|credits?|billing|quota|rate|tokens?|requests?|budget|plan|daily|weekly|monthly)"
)
_LIMIT_NOTICE = re.compile(
    rf"\byou(?:'ve|\u2019ve| have)? (?:hit|reached|exceeded|used up) (?:your|the) "
    rf"(?:\S+ ){{0,4}}?(?:{_KIND_OF_LIMIT}|limit)\b"
    rf"|\b{_KIND_OF_LIMIT}(?: \S+)?? (?:limit|cap|allowance)s? (?:(?:has|have) been |was |is |were )?"
    r"(?:reached|hit|exceeded|exhausted|used up)\b"
    r"|\b(?:credits?|balance) (?:is|are) (?:too low|insufficient|exhausted|used up)\b"
    r"|\b(?:insufficient|out of|no more|not enough) (?:credits?|quota|funds|balance)\b",
    re.IGNORECASE,
)


def retry_after_seconds(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return how long the server asks to be left alone: the longest of retry-after-ms and retry-after; None: not said.

    Retry-After is a number of seconds or an HTTP date. What can't be read says nothing; the past is 0.
    """
    waits = [_number(headers.get("retry-after-ms"), scale=0.001), _seconds_or_date(headers.get("retry-after"), now)]
    known = [wait for wait in waits if wait is not None]
    return min(max(0.0, *known), LONGEST_REST_SECONDS) if known else None


def _number(text: str | None, *, scale: float = 1.0) -> float | None:
    try:
        value = float((text or "").strip()) * scale
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _seconds_or_date(text: str | None, now: float) -> float | None:
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None


_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|(?:max\w*|allowed)[ _]context|n_ctx|prompt_too_long|string_above_max_length"
    r"|(?:prompt|input|request|messages?|content)\b[^.]{0,60}?\b(?:is|are|was|were)?[ _]?too[ _](?:long|large)"
    r"|too many (?:input )?tokens|reduce the length"
    r"|exceeds?\b[^.]{0,60}\b(?:context|maximum (?:input|number of tokens))"
    r"|maximum (?:input|prompt) (?:length|tokens)",
    re.IGNORECASE,
)
_STATUS_OF_WORDS = (
    (re.compile(r"quota|billing|credit|balance", re.IGNORECASE), 402),
    (re.compile(r"rate[ _-]?limit|too[ _]many[ _]requests|throttl", re.IGNORECASE), 429),
    (re.compile(r"invalid[ _]api[ _]key|authenticat|unauthori[sz]ed", re.IGNORECASE), 401),
    (re.compile(r"model[ _]not[ _]found", re.IGNORECASE), 404),
    (re.compile(r"time[d]?[ _-]?out", re.IGNORECASE), 504),
    (re.compile(r"server[ _]error|internal|overloaded|unavailable|upstream|bad gateway", re.IGNORECASE), 503),
)


def _fault(status: int, said: str, asked: Asked, *, retry_after_seconds: float | None = None) -> ModelError:
    message = _message(asked, f"{asked.server} answered {status}: {_meaning(status, asked)}", said)
    # A request that is larger than the whole allowance of a minute comes back as 429, and would for ever.
    if (
        status == 413
        or (status in (400, 422) and _TOO_LONG.search(said))
        or (status == 429 and re.match(r"(?:\w+: )*request too large", said, re.IGNORECASE))
    ):
        return TooLongError(message)
    if status in (400, 422):
        return AnswerError(message)
    if status >= 500 or (status == 429 and retry_after_seconds is not None):
        short = retry_after_seconds is None or retry_after_seconds <= LONGEST_WAIT_SECONDS
        kind = PassingError if short else ProviderError
        return kind(message, retry_after_seconds=retry_after_seconds, per_thread_suspect=status >= 500)
    return ProviderError(message, retry_after_seconds=retry_after_seconds, per_thread_suspect=status == 408)


def _meaning(status: int, asked: Asked) -> str:
    if 300 <= status < 400:
        return "a redirect, which is not followed; check model.base_url"
    if status >= 500:
        return "it failed"
    return {
        400: "it refused the request",
        401: f"it does not accept the key in {asked.api_key_env}",
        402: "its quota or credit is used up",
        403: f"the key in {asked.api_key_env} may not use {asked.model}",
        404: f"no {asked.model} or no such address; check {asked.model_key} and model.base_url",
        408: "it gave up waiting",
        413: "the request is too large",
        422: "it refused the request",
        429: "too many requests, or the quota is used up",
    }.get(status, "it refused the request; check model.base_url")


def _said(body: Any) -> str:
    """Return the server's own words: code or type, and message, on one line."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, str):
        return " ".join(error.split())
    if not isinstance(error, dict):
        return ""
    named = [error.get("code"), error.get("type")]
    code = next((value for value in named if isinstance(value, str) and value), "")
    message = next((error[key] for key in ("message", "detail") if isinstance(error.get(key), str)), "")
    return " ".join(": ".join(part for part in (code, message) if part).split())


def _reason(error: BaseException) -> str:
    """Return why a connection failed, from the system's own error below the libraries' ones."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror.lower()
        seen = seen.__cause__ or seen.__context__
    return "the connection broke"


def _message(asked: Asked, ours: str, said: str = "") -> str:
    theirs = _without_session(redact(said[:_SAID_MAX_CHARS]).text, asked.words) if said else ""
    message = " ".join((f"{ours} ({theirs})" if theirs else ours).split())
    return message if len(message) <= MESSAGE_MAX_CHARS else f"{message[: MESSAGE_MAX_CHARS - 1]}…"


_SAID_MAX_CHARS = 600
_WORD = re.compile(r"\w+")
_LEFT_OUT = re.compile(r"(?:…[\W_]*)+…")


def _without_session(said: str, words: str) -> str:
    """Return a server's words with each one masked that also stands in the session: servers quote what they refuse.

    Plain words of such messages stay. A word that is not ASCII is masked in any case, since it can't be told where
    one ends. Nothing is left when more is masked than told.
    """
    folded = words.casefold()

    def masked(match: re.Match[str]) -> str:
        word = match.group().casefold()
        return match.group() if word in _PLAIN_WORDS or (word.isascii() and word not in folded) else "…"

    told = _LEFT_OUT.sub("…", _WORD.sub(masked, said))
    return told if len(_WORD.findall(told)) > told.count("…") else ""


_PLAIN = """
a an and are as at be been but by can cannot could did do does expected failed field for found from got has have
if in instead into is it its may most must no not of off on one only or out please should some such than that
the their then there this to too try up use used value was were when which will with would you your account
allowed api argument available bad billing body cause check code completion content context
context_length_exceeded context_window_exceeded current details does error exceed exceeded exceeds format
gateway input insufficient_quota internal invalid invalid_request_error json json_schema key large later length
limit long many max maximum message messages minute missing model model_not_found not_found number object output
parameter plan prompt provided quota rate rate_limit_exceeded reduce reached refused request requested requests
required response response_format schema server server_error status string strict support supported temporarily
text timeout token tokens type unable unavailable unknown unsupported unsupported_parameter url window
"""
_PLAIN_WORDS = frozenset(_PLAIN.split())
