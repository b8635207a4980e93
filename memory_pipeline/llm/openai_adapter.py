"""The extractor that asks a model, through the official client, on any server that speaks one of its two APIs."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory_pipeline.clock import Clock, SystemClock
from memory_pipeline.config import ModelConfig
from memory_pipeline.errors import AnswerError, ConfigError, ProviderError
from memory_pipeline.llm.answers import read_answer
from memory_pipeline.llm.bounded import Connection, InFlight, OutOfTimeError
from memory_pipeline.llm.faults import (
    Asked,
    Reply,
    TooLongError,
    fault_of_error_object,
    fault_of_html,
    fault_of_network,
    fault_of_silence,
    fault_of_status,
)
from memory_pipeline.llm.retry import call_with_retries
from memory_pipeline.llm.rows import ShownRows, shorten, show_rows
from memory_pipeline.llm.templates import load_template
from memory_pipeline.llm.wire import (
    RESPONSES,
    answer_text,
    estimated_tokens,
    request_arguments,
    usage_of,
)
from memory_pipeline.records import Evidence, ExtractionAnswer

if TYPE_CHECKING:
    from openai import OpenAI

DEFAULT_BASE_URL = "https://api.openai.com/v1"
REPLY_MAX_BYTES = 8 * 1024 * 1024
OUTPUT_MAX_TOKENS = 16_384  # a session's answer takes a tenth of it; the rest is room for a model that reasons

#: What a request may tell about us besides its body; the client adds the machine's platform and more, and takes
#: further headers from the environment.
_KEPT_HEADERS = frozenset({"host", "accept", "content-type", "content-length", "user-agent"})


class OpenAIExtractor:
    """Asks a model which entries a session holds. One client, built when it is first needed; safe across threads.

    Only the configuration and ``api_key`` decide where a request goes and as whom: the variables that the client
    reads by itself (OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_CUSTOM_HEADERS…) change nothing.
    The proxy variables hold for a remote server, never for one on this machine. Redirects are not followed.
    """

    def __init__(
        self,
        model: ModelConfig,
        *,
        api_key: str | None,
        before_request: Callable[[int], None] | None = None,
        templates: Path | None = None,
        clock: Clock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        """Prepare to ask ``model.extract_model``; nothing is sent and the client is not imported yet.

        ``api_key`` is the value of the variable that ``model.api_key_env`` names. ``before_request`` is told the
        estimated input tokens of each request before it is sent, and may raise to stop it. ``templates`` is the
        folder of the prompts, None for the bundled ones. ``sleep`` waits between tries; by default until ``close``.

        Raises:
            ConfigError: the key is missing for a remote server, or can't stand in a header.
            MemoryPipelineError: a prompt template is missing or wrong.
        """
        self._model = model
        self._api_key = _usable_key(model, api_key)
        self._base_url = model.base_url or DEFAULT_BASE_URL
        self._before_request = before_request
        self._system = load_template("extract_system", folder=templates).fill()
        self._user = load_template("extract_user", _USER_VARIABLES, folder=templates)
        self._clock = clock or SystemClock()
        self._monotonic = monotonic
        self._in_flight = InFlight()
        self._sleep = sleep or self._in_flight.sleep
        self._jitter = jitter
        self._client: OpenAI | None = None
        self._lock = threading.Lock()
        self._requests_sent = 0

    @property
    def requests_sent(self) -> int:
        """How many requests were sent in all, those that failed included."""
        return self._requests_sent

    def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        """Return what the model proposes to keep of ``evidence``; see Extractor. No rows: no request.

        An input that is too long for the model is cut to about half and sent once more. Where the server doesn't
        say how many tokens it took, they are estimated, so that a budget is never blind.

        Raises:
            ProviderError: refused for a reason that lies with the provider, no answer in time, no connection.
            AnswerError: this request was refused, is too long even when cut, or its answer can't be used.
            InterruptedRunError: ``close`` was called.
            Exception: whatever ``before_request`` raises to stop a request.
        """
        if not evidence.rows:
            return ExtractionAnswer(rollout_summary="", rollout_slug="", tasks=())
        spent = _Spent()
        try:
            return self._ask(evidence, deadline, spent)
        except TooLongError as error:
            shorter = shorten(evidence)
            if shorter is None:
                raise _with_tokens(error, spent) from error
        try:
            return dataclasses.replace(self._ask(shorter, deadline, spent), saw_all_rows=False)
        except TooLongError as error:
            raise AnswerError(f"too long even when cut to half: {error}"[:200]) from error

    def close(self) -> None:
        """Give up what is in flight and close the connections; further calls raise InterruptedRunError."""
        self._in_flight.close()
        with self._lock:
            if self._client is not None:
                self._client.close()

    def __enter__(self) -> OpenAIExtractor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, evidence: Evidence, deadline: float | None, spent: _Spent) -> ExtractionAnswer:
        shown = show_rows(evidence)
        user = self._user.fill(opening=shown.opening, closing=shown.closing, session=shown.session, rows=shown.rows)
        asked = self._asked(shown)
        envelope = call_with_retries(
            lambda: self._send(user, asked, deadline, spent),
            deadline=deadline,
            monotonic=self._monotonic,
            sleep=self._sleep,
            jitter=self._jitter,
        )
        return self._read(envelope, user, spent)

    def _asked(self, shown: ShownRows) -> Asked:
        parts = urlsplit(self._base_url)
        server = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
        return Asked(
            server=server,
            model=self._model.extract_model,
            api_key_env=self._model.api_key_env,
            words=f"{shown.session}\n{shown.rows}",
        )

    def _send(self, user: str, asked: Asked, deadline: float | None, spent: _Spent) -> dict[str, Any]:
        """Send one request and return the reply's JSON object; whatever is wrong with it is raised as our error."""
        from openai import APIConnectionError, APITimeoutError

        client = self._ready_client()
        seconds = self._seconds_left(deadline)
        if seconds <= 0:
            raise ProviderError("no time was left to ask the model")
        if self._before_request:
            self._before_request(estimated_tokens([self._system, user]))
        self._count_request(spent)
        try:
            reply = self._in_flight.run(lambda line: self._post(client, user, seconds, line), seconds=seconds)
        except (OutOfTimeError, APITimeoutError):
            raise fault_of_silence(seconds, asked) from None
        except APIConnectionError as error:
            raise fault_of_network(error, asked) from None
        except _TooLargeError:
            raise AnswerError(f"the reply of {asked.server} is larger than {REPLY_MAX_BYTES} bytes") from None
        return _envelope(reply, asked, now=self._clock.now())

    def _seconds_left(self, deadline: float | None) -> float:
        timeout = self._model.timeout_seconds
        return timeout if deadline is None else min(timeout, deadline - self._monotonic())

    def _count_request(self, spent: _Spent) -> None:
        spent.requests += 1
        with self._lock:
            self._requests_sent += 1

    def _post(self, client: OpenAI, user: str, seconds: float, line: Connection) -> Reply:
        """Post the request through the client and return the reply as it came, whatever its status."""
        arguments = request_arguments(
            self._model.wire_api,
            model=self._model.extract_model,
            system=self._system,
            user=user,
            max_output_tokens=min(OUTPUT_MAX_TOKENS, self._model.context_window_tokens // 4),
        )
        api: Any = client.responses if self._model.wire_api == RESPONSES else client.chat.completions
        token = _line.set(line)
        try:
            api.create(**arguments, timeout=seconds)
        except _TakenError as taken:
            return taken.reply
        finally:
            _line.reset(token)
        raise RuntimeError("the client ended a request without handing over its reply")

    def _ready_client(self) -> OpenAI:
        """Return the client, built at the first call: importing it takes more than half a second."""
        with self._lock:
            self._in_flight.check()
            if self._client is None:
                self._client = self._build_client()
            return self._client

    def _build_client(self) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI

        http_client = DefaultHttpxClient(
            timeout=self._model.timeout_seconds,
            follow_redirects=False,
            trust_env=self._model.is_remote,  # a proxy would carry off words that are to stay on this machine
            event_hooks={"request": [self._put_headers], "response": [_take_reply]},
        )
        try:
            return OpenAI(
                api_key=self._api_key,
                base_url=self._base_url,  # always given, so that OPENAI_BASE_URL is not looked at
                max_retries=0,
                timeout=self._model.timeout_seconds,
                http_client=http_client,
            )
        except Exception as error:  # the HTTP library's class for a host name that is none has no public home
            http_client.close()
            raise ConfigError(f"model.base_url can't be used: {type(error).__name__}; check its host name") from error

    def _put_headers(self, request: Any) -> None:
        for name in list(request.headers):
            if name.lower() not in _KEPT_HEADERS:
                del request.headers[name]
        request.headers["Authorization"] = f"Bearer {self._api_key}"
        request.headers["Accept-Encoding"] = "identity"
        # A connection for each request: it can be cut without cutting another one's. It costs one handshake.
        request.headers["Connection"] = "close"
        request.extensions["trace"] = _line.get().observe

    def _read(self, envelope: dict[str, Any], user: str, spent: _Spent) -> ExtractionAnswer:
        usage = usage_of(envelope)
        estimate = estimated_tokens([self._system, user])
        spent.input_tokens += estimate if usage.input_tokens is None else usage.input_tokens
        spent.output_tokens += usage.output_tokens or 0
        try:
            text = answer_text(self._model.wire_api, envelope)
            if usage.output_tokens is None:
                spent.output_tokens += estimated_tokens([text])
            answer = read_answer(text)
        except AnswerError as error:
            raise _with_tokens(error, spent) from None
        return ExtractionAnswer(
            rollout_summary=answer.rollout_summary,
            rollout_slug=answer.rollout_slug,
            tasks=answer.tasks,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            requests=spent.requests,
        )


_USER_VARIABLES = frozenset({"opening", "closing", "session", "rows"})


@dataclass(kw_only=True, slots=True)
class _Spent:
    """What one extraction has cost so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class _TakenError(Exception):
    """Carries a reply past the client, whatever its status."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class _TooLargeError(Exception):
    """The reply is larger than any answer can be."""


#: The connection of the request that this thread is sending, for the hooks of the HTTP client.
_line: ContextVar[Connection] = ContextVar("line")


def _take_reply(response: Any) -> None:
    # The client would read a reply of any size, and only then look at its status and shape, which it takes on trust.
    # Here the reply is read with a limit, still within the client's own translation of network errors.
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > REPLY_MAX_BYTES:
            raise _TooLargeError
    headers = {name.lower(): value for name, value in response.headers.items()}
    raise _TakenError(Reply(status=response.status_code, headers=headers, body=bytes(body)))


def _usable_key(model: ModelConfig, api_key: str | None) -> str:
    key = (api_key or "").strip()
    if not key and model.is_remote:
        raise ConfigError(
            f"the environment variable {model.api_key_env or '(model.api_key_env is empty)'} is not set; "
            "put the server's key into it, or name another variable in model.api_key_env"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{model.api_key_env} holds characters that no key has; set it again")
    return key or "none"


def _envelope(reply: Reply, asked: Asked, *, now: float) -> dict[str, Any]:
    if not 200 <= reply.status < 300:
        raise fault_of_status(reply, asked, now=now)
    if reply.is_html:
        raise fault_of_html(reply, asked)
    if not reply.body.strip():
        raise AnswerError(f"{asked.server} answered {reply.status} with an empty body")
    envelope = reply.json()
    if not isinstance(envelope, dict):
        raise AnswerError(f"{asked.server} answered {reply.status} with something else than a JSON object")
    if envelope.get("error"):
        raise fault_of_error_object(envelope["error"], asked)
    return envelope


def _with_tokens(error: AnswerError, spent: _Spent) -> AnswerError:
    return AnswerError(str(error), input_tokens=spent.input_tokens, output_tokens=spent.output_tokens)
