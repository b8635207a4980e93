"""Each user has a state of their own, and nobody's calls reach another's."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import httpx2
import pytest
from served import ADDRESS, Served, code_of
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from submitted import task
from visiting import Visitor

from memory_pipeline.app import App
from memory_pipeline.config import load_config
from memory_pipeline.errors import ConfigError, InterruptedRunError, UsageError
from memory_pipeline.web.calls import ENDPOINTS
from memory_pipeline.web.connections import Connection
from memory_pipeline.web.endpoints import Call, Endpoint
from memory_pipeline.web.guards import Guards
from memory_pipeline.web.rates import Rate
from memory_pipeline.web.run_calls import RunBody
from memory_pipeline.web.server import run_server


@pytest.mark.parametrize("name", ["", "Ann", "../owner", "a/b", "a b", ".", "-x", "a" * 33, "ünal", "con\n"])
def test_a_name_can_not_be_a_path(tmp_path: Path, name: str) -> None:
    """What could lead out of the folder of users, or be two names to a file system, is refused."""
    with pytest.raises(UsageError, match="can't be a name"):
        Served(tmp_path).user(name)


def test_nobody_reaches_what_is_anothers(served: Served) -> None:
    """Memories, drafts, tasks, settings and words of the owner are nothing to ann, by whatever call she tries."""
    served.ask("POST", "/tasks", json=task())
    memory = served.ask("GET", "/memories").json()["memories"][0]["memory_id"]
    draft = served.ask("GET", "/drafts").json()["drafts"][0]["entry_id"]
    for method, path, body in (
        ("GET", f"/memories/{memory}", None),
        ("GET", f"/drafts/{draft}", None),
        ("POST", f"/drafts/{draft}/decision", {"decision": "reject"}),
        ("POST", f"/drafts/{draft}/undo", None),
        ("GET", "/tasks/t1", None),
        ("POST", "/forget", {"memory": memory, "dry_run": False}),
    ):
        answer = served.ask(method, path, user="ann", json=body)
        assert (answer.status_code, code_of(answer)) == (404, "not_found"), path
    assert served.ask("GET", "/memories", user="ann").json()["total"] == 0
    assert served.ask("GET", "/search?q=tabs", user="ann").json() == {"found": []}
    assert served.ask("GET", "/users/me/auto-memory-log", user="ann").json()["total"] == 0
    served.ask("PUT", "/users/me/auto-memory-settings", user="ann", json={"generate_memories": True})
    served.ask("POST", "/users/me/auto-memory/run", user="ann")
    assert served.ask("GET", "/memories", user="ann").json()["total"] == 0, "the owner's logs are not read for her"
    assert served.ask("GET", "/memories").json()["total"] == 1


def test_the_owners_forgetting_leaves_the_others_alone(served: Served) -> None:
    """The same words in ann's state are hers: they stay, and are not told to the owner as left over."""
    served.ask("POST", "/tasks", user="ann", json=task(result="Always indent with tabs in this repository. " * 9))
    receipt = served.ask("POST", "/forget", json={"match": "indent with tabs", "dry_run": False}).json()["receipt"]
    assert receipt["is_clean"]
    assert b"indent with tabs" in (served.config.users_path / "ann" / "journal.jsonl").read_bytes()


def test_two_users_at_once_disturb_nobody(served: Served) -> None:
    """Both submit and read at the same time; each ends with exactly what they sent."""
    for name in ("ann", "bob"):
        served.token(name)

    def work(name: str) -> list[str]:
        for number in range(8):
            answer = served.ask("POST", "/tasks", user=name, json=task(number, project=f"of-{name}"))
            assert answer.status_code == 200, answer.text
        return [row["scope"] for row in served.ask("GET", "/users/me/auto-memory-log", user=name).json()["tasks"]]

    with ThreadPoolExecutor(2) as pool:
        for name, scopes in zip(("ann", "bob"), pool.map(work, ("ann", "bob")), strict=True):
            assert scopes == [f"project:of-{name}"] * 8


def _blocking(began: threading.Event, goes_on: threading.Event) -> Endpoint:
    def run(app: App, call: Call) -> dict[str, int]:
        del call
        began.set()
        goes_on.wait(20)
        if app.stop.is_set():
            raise InterruptedRunError("stopped")
        return {}

    return Endpoint(
        name="block",
        method="POST",
        path="/block",
        summary="",
        run=run,
        answer=dict[str, int],
        body=RunBody,
        is_run=True,
    )


def test_one_run_at_a_time_for_each_user(tmp_path: Path) -> None:
    """While ann's run is in progress, her second is refused, everything else goes on, and so do other users' runs."""
    began, goes_on = threading.Event(), threading.Event()
    served = Served(tmp_path, endpoints=(*ENDPOINTS, _blocking(began, goes_on)))
    for name in ("ann", "bob"):
        served.token(name)
    with served.client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(served.ask, "POST", "/block", user="ann")
        assert began.wait(20)
        try:
            second = served.ask("POST", "/users/me/auto-memory/run", user="ann")
            assert (second.status_code, code_of(second)) == (409, "run_in_progress")
            assert served.ask("GET", "/memories", user="ann").status_code == 200
            assert served.ask("POST", "/users/me/auto-memory/run", user="bob").status_code == 200
        finally:
            goes_on.set()
        assert first.result().status_code == 200
        assert served.ask("POST", "/users/me/auto-memory/run", user="ann").status_code == 200


def test_a_run_that_is_stopped_says_so(tmp_path: Path) -> None:
    """When the server is asked to stop, a run in progress gives back and is answered by 503."""
    began, goes_on = threading.Event(), threading.Event()
    served = Served(tmp_path, endpoints=[_blocking(began, goes_on)])
    served.token()
    with served.client, ThreadPoolExecutor(1) as pool:
        running = pool.submit(served.ask, "POST", "/block")
        assert began.wait(20)
        served.stop.set()
        goes_on.set()
        answer = running.result()
    assert (answer.status_code, code_of(answer)) == (503, "stopping")


def test_unreadable_tokens_let_nobody_in_and_are_told(tmp_path: Path) -> None:
    """Where the tokens can't be read, no call is answered, nobody logs in, and no path of the server is told."""
    served = Served(tmp_path)
    token = served.token()
    (served.config.server_path / "keys.json").write_text("{", encoding="utf-8")
    for answer in (
        served.client.get("/memories", headers={"authorization": f"Bearer {token}"}),
        served.client.get("/login", params={"code": "x"}),
    ):
        assert (answer.status_code, code_of(answer)) == (503, "unavailable")
        assert str(tmp_path) not in answer.text


def test_too_many_requests_have_to_wait(tmp_path: Path) -> None:
    """Past the limit a user is told how long to wait; another user is not held up."""
    served = Served(tmp_path, calls=Rate(at_once=2, per_minute=6), read_seconds=lambda: 0.0)
    answers = [served.ask("GET", "/memories") for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert code_of(answers[2]) == "too_many"
    assert int(answers[2].headers["retry-after"]) >= 10
    assert served.ask("GET", "/memories", user="ann").status_code == 200


def test_wrong_tokens_have_to_wait_and_keep_no_right_one_out(tmp_path: Path) -> None:
    """Any page in a browser can ask without a token, from the address that programs here have too."""
    served = Served(tmp_path, failures=Rate(at_once=3, per_minute=1), read_seconds=lambda: 0.0)
    wrong = [served.client.get("/memories", headers={"authorization": "Bearer mp_0_0"}) for _ in range(4)]
    assert [one.status_code for one in wrong] == [401, 401, 401, 429]
    assert int(wrong[-1].headers["retry-after"]) >= 60
    assert served.ask("GET", "/memories").status_code == 200


def test_pages_and_calls_of_a_user_are_counted_together(tmp_path: Path) -> None:
    """Whoever is logged in at the page can't ask for more there than with a token."""
    served = Served(tmp_path, calls=Rate(at_once=3, per_minute=6), read_seconds=lambda: 0.0)
    visitor = Visitor(served)
    assert [visitor.get("/page/settings").status_code for _ in range(2)] == [200, 200]
    assert served.ask("GET", "/memories").status_code == 200
    held = visitor.get("/page/settings")
    assert held.status_code == 429
    assert int(held.headers["retry-after"]) >= 10
    assert served.ask("GET", "/memories").status_code == 429


def test_a_user_whose_calls_hang_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """However many calls of one user wait for their database, those of another are answered."""
    asked = 20
    let_go, answered = threading.Event(), threading.Event()

    def work(app: App, call: Call) -> object:
        del app
        if call.user.name == "ann":
            assert let_go.wait(30)
        else:
            answered.set()
        return {}

    served = Served(
        tmp_path, endpoints=[Endpoint(name="hang", method="GET", path="/hang", summary="", run=work, answer=dict)]
    )
    tokens = {name: served.token(name) for name in ("ann", "bob")}

    async def ask(client: httpx2.AsyncClient, name: str) -> None:
        answer = await client.get("/hang", headers={"authorization": f"Bearer {tokens[name]}"})
        assert answer.status_code == 200
        if name == "bob":
            let_go.set()

    async def all_ask() -> None:
        transport = httpx2.ASGITransport(app=served.app)
        async with (
            httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as client,
            anyio.create_task_group() as group,
        ):
            for name in ["ann"] * asked + ["bob"]:
                group.start_soon(ask, client, name)

    anyio.run(all_ask)
    assert answered.is_set()


def test_a_connection_that_asks_nothing_is_closed() -> None:
    """Neither silence nor half a request keeps one of the few connections for long; one that is answered stays."""

    class Impatient(Connection):
        silent_seconds = 0.05

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(b"answered")(scope, receive, send)

    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_server, app, listener, stop=stop, connection=Impatient)
        try:
            for said in (b"", b"GET / HTTP/1.1\r\nHost: loc", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET"):
                with socket.create_connection(listener.getsockname(), timeout=30) as asking:
                    asking.sendall(said)
                    assert _all_of(asking).endswith(b"answered" if said.endswith(b"GET") else b"")
        finally:
            stop.set()
        running.result()


def _all_of(asking: socket.socket) -> bytes:
    """Return what comes until the other side closes, however it does."""
    told = b""
    try:
        while part := asking.recv(4_096):
            told += part
    except ConnectionResetError:
        pass
    return told


def test_a_body_that_comes_in_drops_is_not_waited_for_either() -> None:
    """The time is that of the whole body: a part of it now and then does not lengthen it."""
    sent: list[dict[str, object]] = []
    drops = 0

    async def reading(scope: object, receive: object, send: object) -> None:
        del scope, send
        assert callable(receive)
        while (await receive())["more_body"]:
            pass

    async def drop_by_drop() -> dict[str, object]:
        nonlocal drops
        drops += 1
        await anyio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": drops < 10_000}

    async def keep(message: dict[str, object]) -> None:
        sent.append(message)

    guarded = Guards(reading, hosts=["localhost"], body_seconds=0.1)  # type: ignore[arg-type]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
    anyio.run(guarded, scope, drop_by_drop, keep)  # type: ignore[arg-type]
    assert sent[0]["status"] == 408


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """Whoever sends a body slowly holds up nothing: after a time the request is answered by 408."""
    sent: list[dict[str, object]] = []

    async def reading(scope: object, receive: object, send: object) -> None:
        del scope, send
        assert callable(receive)
        await receive()

    async def never() -> dict[str, object]:
        await anyio.sleep_forever()
        return {}

    async def keep(message: dict[str, object]) -> None:
        sent.append(message)

    guarded = Guards(reading, hosts=["localhost"], body_seconds=0)  # type: ignore[arg-type]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
    anyio.run(guarded, scope, never, keep)  # type: ignore[arg-type]
    assert sent[0]["status"] == 408


def test_a_command_does_not_work_on_anothers_state(tmp_path: Path) -> None:
    """It would read the owner's sessions into it; a folder that is merely called so is no server's."""
    served = Served(tmp_path)
    served.token("ann")
    state = served.config.users_path / "ann"
    with pytest.raises(ConfigError, match="what a server keeps for ann"):
        load_config(str(tmp_path / "config.toml"), str(state), environ={})
    elsewhere = tmp_path / "users" / "ann"
    assert load_config(str(tmp_path / "config.toml"), str(elsewhere), environ={}).state_path == elsewhere
