"""The connection to a model server, through the official client, and how its replies are judged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from memory_pipeline.clock import Clock, SystemClock
from memory_pipeline.config import ModelConfig
from memory_pipeline.errors import AnswerError, BudgetHoldError, CapReachedError, ConfigError, ProviderError
from memory_pipeline.llm.bounded import Connection, InFlight, OutOfTimeError
from memory_pipeline.llm.faults import (
    Asked,
    Reply,
    fault_of_error_object,
    fault_of_html,
    fault_of_network,
    fault_of_silence,
    fault_of_status,
)
from memory_pipeline.llm.port import Meter, Taken
from memory_pipeline.llm.retry import call_with_retries
from memory_pipeline.llm.wire import (
    Usage,
    counted_tokens,
    estimated_tokens,
    limit_answer,
    path_of,
    usage_of,
    words_of,
)
from memory_pipeline.tokens import byte_count

if TYPE_CHECKING:
    from openai import OpenAI

DEFAULT_BASE_URL = "https://api.openai.com/v1"
REPLY_MAX_BYTES = 8 * 1024 * 1024
OUTPUT_MAX_TOKENS = 16_384  # a session's answer takes a tenth of it; the rest is room for a model that reasons

#: What a request may tell about us besides its body; the client adds the machine's platform and more, and takes
#: further headers from the environment.
_KEPT_HEADERS = frozenset({b"host", b"accept", b"content-type", b"content-length", b"user-agent"})


class Spent(Struct, kw_only=True):
    """What one extraction, or one turn of a conversation, has cost so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def on(self, error: AnswerError) -> AnswerError:
        """Return the same fault with what it cost."""
        return type(error)(str(error), input_tokens=self.input_tokens, output_tokens=self.output_tokens)


class ModelClient:
    """Sends requests of either wire API. One client, built when it is first needed; safe across threads.

    Only the configuration and ``api_key`` decide where a request goes and as whom: the variables that the client
    reads by itself (OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_CUSTOM_HEADERS…) change nothing.
    The proxy variables hold for a remote server, never for one on this machine. Redirects are not followed.
    """

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
        """Prepare to ask; nothing is sent and the official client is not imported yet. See OpenAIExtractor.

        Raises:
            ConfigError: the key is missing for a remote server, or can't stand in a header.
        """
        self._model = model
        self._api_key = _usable_key(model, api_key)
        self._base_url = model.base_url or DEFAULT_BASE_URL
        self._meter = meter
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

    @property
    def most_output_tokens(self) -> int:
        """How much an answer may have."""
        return min(OUTPUT_MAX_TOKENS, self._model.context_window_tokens // 4)

    def ask(
        self,
        arguments: Mapping[str, Any],
        texts: Sequence[str],
        *,
        asked: Asked,
        deadline: float | None,
        spent: Spent,
    ) -> dict[str, Any]:
        """Send a request, again where the fault may pass, and return the reply's JSON object; ``spent`` grows.

        ``texts`` are the words in ``arguments``, for an estimate: where the server doesn't say how many tokens it
        took, a budget must not be blind.

        Raises:
            ProviderError: refused for a reason that lies with the provider, no answer in time, no connection.
            AnswerError: this request was refused, or is too long, or its reply is none.
            InterruptedRunError: ``close`` was called.
            BudgetHoldError, CapReachedError: the meter forbade it, and nothing was sent.
        """
        estimate = estimated_tokens(texts)
        failed: list[ProviderError] = []

        def send() -> dict[str, Any]:
            try:
                return self._send(arguments, texts, asked, deadline, spent)
            except ProviderError as error:
                failed.append(error)
                raise
            except (BudgetHoldError, CapReachedError):
                if failed:  # what stopped the tries is no fault of this request: the provider's was there first
                    raise failed[-1] from None
                raise

        envelope = call_with_retries(
            send,
            deadline=deadline,
            monotonic=self._monotonic,
            sleep=self._sleep,
            jitter=self._jitter,
        )
        usage = usage_of(envelope)
        spent.input_tokens += estimate if usage.input_tokens is None else usage.input_tokens
        spent.output_tokens += usage.output_tokens or 0
        return envelope

    def list_models(self, *, seconds: float) -> list[str]:
        """Return the names of the models that the server offers: a request that sends no words and costs no tokens.

        Raises:
            ProviderError, AnswerError: it refused, did not answer in time, or answered something else.
            ConfigError: model.base_url names no host.
        """
        from openai import APIConnectionError, APITimeoutError

        client = self._ready_client()
        asked = self.asked("model.extract_model", self._model.extract_model, "")
        try:
            reply = self._in_flight.run(lambda line: _get_models(client, seconds, line), seconds=seconds)
        except (OutOfTimeError, APITimeoutError):
            raise fault_of_silence(seconds, asked) from None
        except APIConnectionError as error:
            raise fault_of_network(error, asked) from None
        except _TooLargeError:
            raise AnswerError(f"the list of models of {asked.server} is larger than {REPLY_MAX_BYTES} bytes") from None
        listed = _envelope(reply, asked, now=self._clock.now()).get("data")
        if not isinstance(listed, list):
            raise AnswerError(f"{asked.server} answered with something else than a list of models")
        return [one["id"] for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str)]

    def asked(self, model_key: str, model: str, words: str) -> Asked:
        """Say whom we ask with what, for messages about faults."""
        parts = urlsplit(self._base_url)
        server = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
        return Asked(server=server, model=model, model_key=model_key, api_key_env=self._model.api_key_env, words=words)

    def close(self) -> None:
        """Give up what is in flight and close the connections; further calls raise InterruptedRunError."""
        self._in_flight.close()
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _send(
        self, arguments: Mapping[str, Any], texts: Sequence[str], asked: Asked, deadline: float | None, spent: Spent
    ) -> dict[str, Any]:
        """Send one request and return the reply's JSON object; whatever is wrong with it is raised as our error."""
        from openai import APIConnectionError, APITimeoutError

        client = self._ready_client()
        seconds = self._seconds_left(deadline)
        if seconds <= 0:
            raise ProviderError("no time was left to ask the model")
        if self._meter:
            most = self._meter.before_request(
                input_tokens=estimated_tokens(texts), output_tokens=self.most_output_tokens
            )
            arguments = limit_answer(arguments, most)
        self._count_request(spent)
        lines: list[Connection] = []

        def post(line: Connection) -> Reply:
            lines.append(line)
            return self._post(client, arguments, seconds, line)

        try:
            reply = self._in_flight.run(post, seconds=seconds)
        except (OutOfTimeError, APITimeoutError):
            raise fault_of_silence(seconds, asked) from None
        except APIConnectionError as error:
            if not any(line.was_made for line in lines):
                self._settle(Taken())
            raise fault_of_network(error, asked) from None
        except _TooLargeError:
            self._settle(
                Taken(input_tokens=counted_tokens(texts), output_tokens=counted_tokens([bytes(REPLY_MAX_BYTES)]))
            )
            raise AnswerError(f"the reply of {asked.server} is larger than {REPLY_MAX_BYTES} bytes") from None
        self._settle(_taken(reply, texts, most_tokens=self._model.context_window_tokens))
        return _envelope(reply, asked, now=self._clock.now())

    def _settle(self, taken: Taken | None) -> None:
        if self._meter and taken is not None:
            self._meter.after_request(taken)

    def _seconds_left(self, deadline: float | None) -> float:
        timeout = self._model.timeout_seconds
        return timeout if deadline is None else min(timeout, deadline - self._monotonic())

    def _count_request(self, spent: Spent) -> None:
        spent.requests += 1
        with self._lock:
            self._requests_sent += 1

    def _post(self, client: OpenAI, arguments: Mapping[str, Any], seconds: float, line: Connection) -> Reply:
        """Post the request through the client and return the reply as it came, whatever its status."""
        token = _line.set(line)
        try:
            # The client's own method of this name goes through all of the arguments and their types once more, which
            # takes longer than the rest of a request; and it loads types that take megabytes.
            client.post(path_of(self._model.wire_api), cast_to=object, body=arguments, options={"timeout": seconds})
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
            verify=_trusted(self._base_url, is_remote=self._model.is_remote),
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
        kept = [(name, value) for name, value in request.headers.raw if name.lower() in _KEPT_HEADERS]
        request.headers = type(request.headers)(kept)
        request.headers["Authorization"] = f"Bearer {self._api_key}"
        request.headers["Accept-Encoding"] = "identity"
        # A connection for each request: it can be cut without cutting another one's. It costs one handshake.
        request.headers["Connection"] = "close"
        request.extensions["trace"] = _line.get().observe


def _get_models(client: OpenAI, seconds: float, line: Connection) -> Reply:
    token = _line.set(line)
    try:
        client.models.list(timeout=seconds)
    except _TakenError as taken:
        return taken.reply
    finally:
        _line.reset(token)
    raise RuntimeError("the client ended a request without handing over its reply")


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


def _trusted(base_url: str, *, is_remote: bool) -> Any:
    """Return whose certificates are trusted: the usual ones; nobody's where nothing goes over TLS.

    Loading the usual ones takes time and megabytes, which a server on this machine without TLS has no use for.
    """
    if is_remote or urlsplit(base_url).scheme != "http":
        return True
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


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


#: Statuses with which a gateway gives up waiting for a model that may go on, and be billed.
_GAVE_UP_WAITING = frozenset({408, 504, 524})


def _taken(reply: Reply, texts: Sequence[str], *, most_tokens: int) -> Taken | None:
    """Return what a request took by its reply, None where that can't be known.

    What was refused took nothing. A provider that tells less than we count ourselves is not believed; nor is one that
    tells more than goes into the model, and has more tokens than bytes went over the wire.
    """
    if reply.status in _GAVE_UP_WAITING:
        return None
    envelope = reply.json()
    table = envelope if isinstance(envelope, dict) else {}
    usage = usage_of(table)
    if not 200 <= reply.status < 300 or reply.is_html or table.get("error"):
        return _most_of(usage, 0, 0, most_input=most_tokens, most_output=most_tokens)
    written = words_of(table) if table else [reply.body]
    sent_bytes = sum(map(byte_count, texts))
    return _most_of(
        usage,
        counted_tokens(texts),
        counted_tokens(written),
        most_input=max(most_tokens, sent_bytes),
        most_output=max(most_tokens, len(reply.body)),
    )


def _most_of(usage: Usage, counted_input: int, counted_output: int, *, most_input: int, most_output: int) -> Taken:
    reported = [tokens for tokens in (usage.input_tokens, usage.output_tokens) if tokens is not None]
    return Taken(
        input_tokens=max(counted_input, min(usage.input_tokens or 0, most_input)),
        output_tokens=max(counted_output, min(usage.output_tokens or 0, most_output)),
        reported_tokens=sum(reported) if reported else None,
    )
