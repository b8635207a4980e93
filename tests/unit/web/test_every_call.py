"""What holds for every call of the interface, whatever it does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from served import Served, code_of
from submitted import task

from memory_pipeline.web.calls import ENDPOINTS
from memory_pipeline.web.endpoints import Endpoint
from memory_pipeline.web.guards import MAX_BODY_BYTES

CALLS = [pytest.param(one, id=one.name) for one in ENDPOINTS]
WITH_BODY = [pytest.param(one, id=one.name) for one in ENDPOINTS if one.body is not None]
WRITING = [pytest.param(one, id=one.name) for one in ENDPOINTS if one.method != "GET"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A server that no test of this file changes."""
    return Served(tmp_path_factory.mktemp("served"))


def _path(endpoint: Endpoint) -> str:
    return re.sub(r"\{\w+\}", "m_0", endpoint.path)


def _body(endpoint: Endpoint) -> Any:
    return {} if endpoint.body is not None else None


@pytest.mark.parametrize("endpoint", CALLS)
@pytest.mark.parametrize(
    "given", [None, "Bearer", "Bearer mp_0_0", "Basic b3duZXI6eA==", "Bearer \xff", "Bearer " + "x" * 9_000]
)
def test_no_call_is_answered_without_a_valid_token(tmp_path: Path, endpoint: Endpoint, given: str | None) -> None:
    """No token, another scheme, an unknown, broken or endless token: 401, and nothing about what is there."""
    server = Served(tmp_path)
    headers = [] if given is None else [(b"authorization", given.encode("latin-1"))]
    answer = server.client.request(endpoint.method, _path(endpoint), headers=headers, json=_body(endpoint))
    assert (answer.status_code, code_of(answer)) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("endpoint", CALLS)
def test_a_revoked_token_lets_nobody_in(tmp_path: Path, endpoint: Endpoint) -> None:
    """A token counts until it is revoked, and the next request with it is refused."""
    server = Served(tmp_path)
    server.user("ann")
    made, token = server.keys.create("ann", now=server.clock.now())
    asked = {"headers": {"authorization": f"Bearer {token}"}, "json": {"nonsense": 1}}
    assert server.client.request(endpoint.method, _path(endpoint), **asked).status_code != 401
    server.keys.revoke(made.token_id, user="ann")
    assert server.client.request(endpoint.method, _path(endpoint), **asked).status_code == 401


@pytest.mark.parametrize("endpoint", CALLS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8484", "127.0.0.1.evil.example", "", "user@localhost", "[::1", "a b"]
)
def test_no_call_is_answered_under_a_foreign_name(shared: Served, endpoint: Endpoint, host: str) -> None:
    """A page that lets a name of its own point to this machine gets nothing."""
    answer = shared.ask(endpoint.method, _path(endpoint), headers={"host": host}, json=_body(endpoint))
    assert (answer.status_code, code_of(answer)) == (421, "foreign_host")


@pytest.mark.parametrize("endpoint", WRITING)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://localhost:8484"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_changes_nothing(shared: Served, endpoint: Endpoint, headers: dict[str, str]) -> None:
    """A write that a browser says to come from elsewhere is refused, with a valid token too."""
    answer = shared.ask(endpoint.method, _path(endpoint), headers=headers, json=_body(endpoint))
    assert (answer.status_code, code_of(answer)) == (403, "foreign_origin")


@pytest.mark.parametrize("endpoint", CALLS)
def test_no_answer_may_be_read_by_another_site_or_kept(shared: Served, endpoint: Endpoint) -> None:
    """No header lets other origins in, asked for or not, and no cache keeps an answer."""
    headers = {"origin": "https://evil.example", "access-control-request-method": endpoint.method}
    for method in (endpoint.method, "OPTIONS"):
        answer = shared.ask(method, _path(endpoint), headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("endpoint", WITH_BODY)
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed"),
        (b"\xff\xfe", 400, "malformed"),
        (b'{"a": "\xed\xa0\x80"}', 400, "malformed"),
        (b"[" * 100_000, 422, "unfit"),
        (b'{"a": ' + b"[" * 100_000, 400, "malformed"),
        (b"[]", 422, "unfit"),
        (b"null", 422, "unfit"),
        (b'{"no such field": 1}', 422, "unfit"),
        (b"x" * (MAX_BODY_BYTES + 1), 413, "too_large"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(
    shared: Served, endpoint: Endpoint, body: bytes, status: int, code: str
) -> None:
    """Cut, foreign, deep, unknown and huge bodies get an answer that says so, never a fault of ours."""
    answer = shared.ask(endpoint.method, _path(endpoint), content=body)
    assert answer.status_code in (status, 400, 422)
    assert code_of(answer) in (code, "malformed", "unfit")
    assert (answer.status_code == 413) == (status == 413)


@pytest.mark.parametrize("endpoint", WITH_BODY)
def test_a_body_of_untold_size_is_counted(shared: Served, endpoint: Endpoint) -> None:
    """A body that comes in parts, without a length, is refused where it grows past the limit."""

    def parts() -> Any:
        for _ in range(40):
            yield b" " * (MAX_BODY_BYTES // 32)

    answer = shared.ask(endpoint.method, _path(endpoint), content=parts())
    assert (answer.status_code, code_of(answer)) == (413, "too_large")


@pytest.mark.parametrize("endpoint", CALLS)
def test_unknown_parameters_and_ids_of_other_shapes_are_refused(shared: Served, endpoint: Endpoint) -> None:
    """A parameter that a call doesn't take is no silent slip, and an id can't be a path."""
    unknown = shared.ask(endpoint.method, f"{_path(endpoint)}?no_such=1", json=_body(endpoint))
    assert (unknown.status_code, code_of(unknown)) == (422, "unfit")
    if "{" in endpoint.path:
        strange = re.sub(r"\{\w+\}", "..%5c..%5cetc", endpoint.path)
        assert shared.ask(endpoint.method, strange, json=_body(endpoint)).status_code == 404


@pytest.mark.parametrize("endpoint", CALLS)
def test_a_damaged_database_is_told(tmp_path: Path, endpoint: Endpoint) -> None:
    """Every call but a run, which mends it, says that the database is damaged, and how it is mended."""
    server = Served(tmp_path)
    server.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    server.kept.run()
    server.kept.database.write_bytes(b"no database at all " * 1_000)
    if endpoint.is_run:
        assert server.ask(endpoint.method, _path(endpoint), json={}).status_code == 200
        assert server.ask("GET", "/memories").json()["total"] == 1
        return
    answer = server.ask(endpoint.method, _path(endpoint), params=_needed(endpoint), json=_needed_body(endpoint))
    assert (answer.status_code, code_of(answer)) == (503, "damaged")
    assert "run" in answer.json()["error"]["message"]
    assert str(tmp_path) not in answer.text


def _needed(endpoint: Endpoint) -> dict[str, str]:
    return {"q": "tabs"} if endpoint.name == "search" else {}


def _needed_body(endpoint: Endpoint) -> Any:
    bodies: dict[str, Any] = {
        "decideDraft": {"decision": "approve"},
        "noteDraft": {"note": "later"},
        "forget": {"match": "tabs"},
        "submitTask": task(),
    }
    return bodies.get(endpoint.name, _body(endpoint))


#: What a body must hold for a call to get as far as looking for what is asked of it.
BODIES: dict[str, dict[str, Any]] = {
    "setTaskFlags": {"generate": False},
    "submitTask": task(9, goal="Paint it", result="It is green. " * 30, parent_task_id="t1", continued_from="t1"),
    "giveTaskContext": {"project": "git@example.org:sam/shop.git"},
    "runAutoMemory": {"force": True},
    "decideDraft": {"decision": "reject"},
    "noteDraft": {"note": "mine"},
    "forget": {"match": "indent with tabs", "dry_run": False},
}


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A server whose owner has a memory, a draft and a task."""
    server = Served(tmp_path_factory.mktemp("owned"))
    server.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    server.kept.run()
    server.ask("POST", "/tasks", json=task())
    return server


def _everything(server: Served) -> list[Any]:
    paths = ("/memories", "/drafts", "/tasks/t1", "/users/me/auto-memory-settings", "/users/me/auto-memory-log")
    return [server.ask("GET", path).json() for path in paths]


@pytest.mark.parametrize("endpoint", CALLS)
def test_no_call_reaches_what_is_anothers(owned: Served, endpoint: Endpoint) -> None:
    """With another user's token and the owner's ids no word of the owner is told, and nothing of theirs changes."""
    before = _everything(owned)
    memories, drafts, *_ = before
    ids = {
        "memory_id": memories["memories"][0]["memory_id"],
        "entry_id": drafts["drafts"][0]["entry_id"],
        "task_id": "t1",
    }
    asked = "?q=indent+tabs+uploads" if endpoint.name == "search" else ""
    answer = owned.ask(
        endpoint.method,
        endpoint.path.format(**ids) + asked,
        user="ann",
        json=BODIES.get(endpoint.name, _body(endpoint)),
    )
    assert answer.status_code != 401
    for word in ("ndent", "with tabs", "uploads", "upload.toml", str(owned.kept.state)):
        assert word not in answer.text
    assert _everything(owned) == before
