"""A real HTTP server on loopback that speaks both APIs of a model server and replies as it is told.

In a test::

    with ModelServer([status(429, headers={"Retry-After": "1"})], default=answer({})) as server:
        ...  # ask server.base_url
    assert [request.path for request in server.requests] == ["/v1/responses"]

As a process of its own, for tests that start the real command::

    python model_server.py --port-file PORT --script SCRIPT.json --requests REQUESTS.jsonl

SCRIPT.json is ``{"script": [reply, …], "default": reply}``; a reply is an object with fields of ``Reply``, such as
``{"answer": {…}}``, ``{"text": "…"}``, ``{"status": 429, "headers": {"Retry-After": "1"}}``, ``{"hang": true}``.
PORT appears, whole, once the server listens; each request is appended to REQUESTS.jsonl as it arrives.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct, field

RESPONSES_PATH = "/v1/responses"
CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
TRICKLE_SECONDS = 0.02


class Request(Struct, frozen=True, kw_only=True):
    """One request as it arrived. Header names are in small letters."""

    number: int  # from 1, in the order of arrival
    path: str
    headers: Mapping[str, str]
    body: Any  # parsed JSON; None when it was none

    @property
    def shown(self) -> str:
        """Everything that the model would read, of either API, as one text."""
        if self.path == RESPONSES_PATH:
            return "\n".join([self.body["instructions"], *(_words(item) for item in self.body["input"])])
        return "\n".join(_words(message) for message in self.body["messages"])

    @property
    def offers_tools(self) -> bool:
        """Whether the model may call tools: a request of the curator."""
        return "tools" in self.body

    @property
    def results(self) -> list[Any]:
        """What the tools gave, all of them so far: parsed JSON, or the text where it is none."""
        if self.path == RESPONSES_PATH:
            texts = [item["output"] for item in self.body["input"] if item.get("type") == "function_call_output"]
        else:
            texts = [message["content"] for message in self.body["messages"] if message["role"] == "tool"]
        return [_parsed(text) for text in texts]


def _words(item: Mapping[str, Any]) -> str:
    calls = [call["function"] for call in item.get("tool_calls", ())]
    texts = [item.get("content"), item.get("arguments"), item.get("output"), *(call["arguments"] for call in calls)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class Reply(Struct, frozen=True, kw_only=True):
    """What the server does with one request. ``answer`` and ``text`` are wrapped in the API's own shape."""

    answer: Mapping[str, Any] | None = None  # sent as JSON text
    text: str | None = None  # sent as it is
    calls: tuple[tuple[str, Any], ...] = ()  # tool calls: name and arguments; a string stands as it is
    refusal: str | None = None
    finish: str = "stop"  # or "length", "content_filter"
    input_tokens: int | None = 100  # None: the reply has no usage
    output_tokens: int | None = 10
    body: str | None = None  # the whole body, instead of an API's shape
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False  # say nothing until released
    trickle: bool = False  # send a byte of the body now and then until released
    drop: bool = False  # close the connection without a reply
    cut_body: bool = False  # close the connection in the middle of the body


def answer(value: Mapping[str, Any], **fields: Any) -> Reply:
    """Reply with a JSON answer."""
    return Reply(answer=value, **fields)


def text(value: str, **fields: Any) -> Reply:
    """Reply with text that the model wrote, JSON or not."""
    return Reply(text=value, **fields)


def calls(*wanted: tuple[str, Any], **fields: Any) -> Reply:
    """Reply with tool calls: pairs of a name and its arguments."""
    return Reply(calls=tuple((name, arguments) for name, arguments in wanted), **fields)


def fenced(value: Mapping[str, Any]) -> Reply:
    """Reply with a JSON answer in a Markdown code fence."""
    return Reply(text=f"```json\n{json.dumps(value, indent=1)}\n```")


def cut(value: Mapping[str, Any]) -> Reply:
    """Reply with the first half of a JSON answer, as a model does that reached its limit."""
    written = json.dumps(value)
    return Reply(text=written[: len(written) // 2], finish="length")


def status(code: int, *, message: str = "", error_code: str = "", headers: Mapping[str, str] | None = None) -> Reply:
    """Reply with a status and an error object."""
    error = {"message": message, "code": error_code or None, "type": None}
    return Reply(status=code, headers=headers or {}, body=json.dumps({"error": error}))


def too_long() -> Reply:
    """Refuse the input as too long for the model."""
    return status(
        400,
        error_code="context_length_exceeded",
        message="This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
    )


def hang() -> Reply:
    """Say nothing until the server is released."""
    return Reply(hang=True)


def trickle() -> Reply:
    """Send the head of a reply, then spaces, one by one, until the server is released."""
    return Reply(trickle=True)


def drop() -> Reply:
    """Close the connection without a reply."""
    return Reply(drop=True)


Script = Iterable[Reply | Callable[[Request], Reply]]


class ModelServer:
    """Listens on 127.0.0.1 from entering the context to leaving it. Safe to use from several threads.

    Each request takes the next reply of the script, and ``default`` once it is used up.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        default: Reply | Callable[[Request], Reply] | None = None,
        on_request: Callable[[Request], None] | None = None,
    ) -> None:
        self.default = default or Reply(answer={})
        self.models: Sequence[str] = ("test-model",)
        self.listings: list[Mapping[str, str]] = []  # the headers of requests for the list of models
        self.faults: list[str] = []  # what went wrong in the server itself; a test may assert that there is nothing
        self._script: deque[Reply | Callable[[Request], Reply]] = deque(script)
        self._on_request = on_request
        self._requests: list[Request] = []
        self._arrived = threading.Condition()
        self._released = threading.Event()
        self._server = _Listener(("127.0.0.1", 0), _Conversation, self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        """The port, chosen by the system."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """The address for ``model.base_url``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Request]:
        """The requests so far, in the order of arrival."""
        with self._arrived:
            return list(self._requests)

    def script(self, replies: Script) -> None:
        """Put further replies at the end of the script."""
        with self._arrived:
            self._script.extend(replies)

    def wait_for_requests(self, count: int, timeout_seconds: float = 10.0) -> bool:
        """Wait until ``count`` requests have arrived; False if they have not in time."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self._requests) >= count, timeout_seconds)

    def release(self) -> None:
        """Let everything that hangs or trickles end, now and from now on."""
        self._released.set()

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next_reply(self, path: str, headers: Mapping[str, str], body: Any) -> Reply:
        """Record one request and choose its reply."""
        with self._arrived:
            request = Request(number=len(self._requests) + 1, path=path, headers=headers, body=body)
            self._requests.append(request)
            chosen = self._script.popleft() if self._script else self.default
            if self._on_request:
                self._on_request(request)
            self._arrived.notify_all()
        return chosen(request) if callable(chosen) else chosen

    def wait_until_released(self, seconds: float | None = None) -> bool:
        """Wait until ``release``; False if it was not called within ``seconds``."""
        return self._released.wait(seconds)


class _Listener(ThreadingHTTPServer):
    # Leaving the context waits for every conversation, so that no socket outlives its test.
    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], owner: ModelServer) -> None:
        self.owner = owner
        super().__init__(address, handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        import traceback

        self.owner.faults.append(traceback.format_exc())


class _Conversation(BaseHTTPRequestHandler):
    server: _Listener
    timeout = 10  # seconds; a client that connects and says nothing must not hold up the end of a test

    def do_GET(self) -> None:
        """The list of models: it is no request that a test counts."""
        owner = self.server.owner
        owner.listings.append({name.lower(): value for name, value in self.headers.items()})
        body = json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in owner.models]})
        known = self.path == MODELS_PATH
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode() if known else b"{}")

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw = self.rfile.read(int(headers.get("content-length", 0)))
        body = None
        with contextlib.suppress(ValueError):
            body = json.loads(raw)
        reply = self.server.owner.next_reply(self.path, headers, body)
        with contextlib.suppress(ConnectionError, TimeoutError):
            self._carry_out(reply)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing: a test reads ``requests``."""

    def _carry_out(self, reply: Reply) -> None:
        if reply.hang:
            self.server.owner.wait_until_released()
            return
        if reply.drop:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        known = self.path in (RESPONSES_PATH, CHAT_PATH)
        body = (_body(self.path, reply) if known else '{"error": {"message": "no such address"}}').encode()
        self.send_response(reply.status if known else 404)
        self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if not reply.trickle:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if reply.trickle:
            self._trickle()
            return
        self.wfile.write(body[: len(body) // 2] if reply.cut_body else body)

    def _trickle(self) -> None:
        while not self.server.owner.wait_until_released(TRICKLE_SECONDS):
            self.wfile.write(b" ")
            self.wfile.flush()


def _body(path: str, reply: Reply) -> str:
    if reply.body is not None:
        return reply.body
    written = json.dumps(reply.answer) if reply.answer is not None else reply.text or ""
    envelope = _responses_body(reply, written) if path == RESPONSES_PATH else _chat_body(reply, written)
    return json.dumps(envelope)


def _called(reply: Reply) -> list[tuple[str, str, str]]:
    return [
        (f"call_{number}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for number, (name, arguments) in enumerate(reply.calls, start=1)
    ]


def _responses_body(reply: Reply, written: str) -> dict[str, Any]:
    if reply.refusal is not None:
        content: dict[str, Any] = {"type": "refusal", "refusal": reply.refusal}
    else:
        content = {"type": "output_text", "text": written, "annotations": []}
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    envelope: dict[str, Any] = {
        "id": "resp_test",
        "object": "response",
        "created_at": 0,
        "model": "test-model",
        "status": "incomplete" if reply.finish in reasons else "completed",
        "incomplete_details": {"reason": reasons[reply.finish]} if reply.finish in reasons else None,
        "error": None,
        "output": [
            {"id": "rs_test", "type": "reasoning", "summary": []},
            {"id": "msg_test", "type": "message", "role": "assistant", "status": "completed", "content": [content]},
            *(
                {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": given}
                for call_id, name, given in _called(reply)
            ),
        ],
    }
    if reply.input_tokens is not None:
        envelope["usage"] = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
    return envelope


def _chat_body(reply: Reply, written: str) -> dict[str, Any]:
    content = None if reply.refusal is not None else written
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": reply.refusal}
    if reply.calls:
        message["content"] = None
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}
            for call_id, name, given in _called(reply)
        ]
    envelope: dict[str, Any] = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": "test-model",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else reply.finish}],
    }
    if reply.input_tokens is not None:
        envelope["usage"] = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens}
    return envelope


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port-file", type=Path, required=True, help="where the port is written once we listen")
    parser.add_argument("--script", type=Path, help="JSON: the replies in order, and the default one")
    parser.add_argument("--requests", type=Path, help="JSON lines: the requests as they arrive")
    options = parser.parse_args(arguments)
    table = json.loads(options.script.read_text(encoding="utf-8")) if options.script else {}
    replies = [Reply(**fields) for fields in table.get("script", [])]
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    recorder = _recorder(options.requests) if options.requests else None
    with ModelServer(replies, default=Reply(**table.get("default", {"answer": {}})), on_request=recorder) as server:
        whole = options.port_file.with_suffix(".part")
        whole.write_text(str(server.port), encoding="utf-8")
        whole.replace(options.port_file)
        stopped.wait()


def _recorder(path: Path) -> Callable[[Request], None]:
    def record(request: Request) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(msgspec.structs.asdict(request)) + "\n")

    return record


if __name__ == "__main__":
    main()
