"""The server as a process: a real one on loopback, asked over real sockets, ended by real signals."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from command import Machine, Running, session, wait_until
from model_server import ModelServer, hang
from msgspec import Struct

RULE = "From now on always run make lint before you commit."


class Serving(Struct, frozen=True, kw_only=True, dict=True):
    """A server that runs."""

    running: Running
    address: str
    port: int
    token: str
    told: Path
    log: Path

    def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Ask with the token of the owner."""
        headers = {"authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        return httpx2.request(method, f"{self.address}{path}", headers=headers, timeout=30, **options)

    def say(self, request: bytes) -> bytes:
        """Send some bytes as they are; returns all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            with contextlib.suppress(OSError):  # it may answer, and close, before it has read all
                connection.sendall(request)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(65_536):
                    answer += part
            return answer


@contextlib.contextmanager
def serving(machine: Machine, *options: str) -> Iterator[Serving]:
    """Start a server on a port that is free, and leave it running."""
    token = machine.run("serve", "token", "create", "--user", "owner", "--json").document["token"]
    told, log = machine.root / "serve.out", machine.root / "serve.log"
    with (
        told.open("ab") as out,
        log.open("ab") as err,
        machine.start("serve", "--port", "0", *options, out=out.fileno(), err=err.fileno()) as running,
    ):
        wait_until(lambda: b"/login?code=" in told.read_bytes() or not running.is_running)
        found = re.search(r"Listening on (http://127\.0\.0\.1:(\d+));", told.read_text(encoding="utf-8"))
        assert found, log.read_text(encoding="utf-8")
        yield Serving(running=running, address=found[1], port=int(found[2]), token=token, told=told, log=log)


def test_a_server_answers_and_ends_on_a_signal(machine: Machine) -> None:
    """Memories by token, the page by the printed link, and 0 after SIGTERM; its log holds no word and no secret."""
    session(1, RULE).write(machine.codex)
    machine.run("run")
    with serving(machine) as server:
        (memory,) = server.ask("GET", "/memories").json()["memories"]
        assert "make lint" in memory["statement"]
        link = re.search(r"http://\S+/login\?code=\S+", server.told.read_text(encoding="utf-8"))
        assert link
        with httpx2.Client(follow_redirects=True) as browser:
            assert "logged in as owner" in browser.get(link[0]).text
            assert browser.get(link[0]).status_code == 403
        server.running.send(signal.SIGTERM)
        assert server.running.wait(10).code == 0
        log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert server.token not in log
    assert "make lint" not in log
    assert link[0].rpartition("=")[2] not in log


def test_what_is_no_request_of_ours_is_turned_away(machine: Machine) -> None:
    """Foreign and doubled hosts, huge bodies with and without a length, and what is no HTTP at all; it goes on."""
    with serving(machine) as server:
        head = f"POST /forget HTTP/1.1\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n".encode()
        host = f"Host: 127.0.0.1:{server.port}\r\n".encode()
        assert b" 421 " in server.say(head + b"Host: evil.example\r\nContent-Length: 2\r\n\r\n{}").splitlines()[0]
        assert b" 4" in server.say(head + host + b"Host: localhost\r\n\r\n").splitlines()[0]
        assert b" 413 " in server.say(head + host + b"Content-Length: 99999999999\r\n\r\n{").splitlines()[0]
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        chunked = head + host + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 70 + b"0\r\n\r\n"
        assert b" 413 " in server.say(chunked).splitlines()[0]
        assert b" 400 " in server.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").splitlines()[0]
        assert server.ask("GET", "/memories").status_code == 200


def test_a_token_counts_as_soon_as_it_is_made_and_until_it_is_revoked(machine: Machine) -> None:
    """A server that runs takes a new token, and refuses a revoked one, without being told."""
    with serving(machine) as server:
        made = machine.run("serve", "token", "create", "--user", "ann", "--json").document
        headers = {"authorization": f"Bearer {made['token']}"}
        assert server.ask("GET", "/memories", headers=headers).json() == {"memories": [], "total": 0}
        listed = machine.run("serve", "token", "list", "--json").document
        assert sorted(one["user"] for one in listed) == ["ann", "owner"]
        assert made["token"] not in str(listed)
        assert machine.run("serve", "token", "revoke", made["token_id"], "--user", "ann").code == 0
        assert server.ask("GET", "/memories", headers=headers).status_code == 401
    assert machine.run("serve", "token", "revoke", made["token_id"], "--user", "ann").code == 2


def test_a_run_in_flight_is_given_back_on_a_signal(machine: Machine) -> None:
    """SIGTERM while a model hangs: the run is answered by 503, no row is left running, and the server ends with 0."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=hang()) as model, ThreadPoolExecutor(1) as pool:
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": model.base_url})
        with serving(machine) as server:
            running = pool.submit(server.ask, "POST", "/users/me/auto-memory/run")
            assert model.wait_for_requests(1)
            assert server.ask("POST", "/users/me/auto-memory/run").json()["error"]["code"] == "run_in_progress"
            server.running.send(signal.SIGTERM)
            answer = running.result()
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "stopping")
            assert server.running.wait(10).code == 0
    assert machine.rows("SELECT count(*) FROM jobs WHERE state = 'running'") == [(0,)]


def test_two_programs_at_once_are_both_answered(machine: Machine) -> None:
    """Many requests side by side: each is answered, none with a fault of ours."""
    session(1, RULE).write(machine.codex)
    machine.run("run")
    with serving(machine) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.ask("GET", "/search?q=lint").status_code, range(40)))
    assert answers == [200] * 40


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_kept_out_unless_that_is_meant(machine: Machine, host: str) -> None:
    """An address that others can reach is refused with what to do instead."""
    ran = machine.run("serve", "--host", host, "--port", "0")
    assert ran.code == 2
    assert "--allow-remote" in ran.complaint


def test_a_taken_port_is_told(machine: Machine) -> None:
    """Another program's port ends it with 1 and one line."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        ran = machine.run("serve", "--port", str(other.getsockname()[1]))
    assert ran.code == 1
    assert "--port" in ran.complaint


def test_without_the_extra_it_says_how_to_install_it(machine: Machine) -> None:
    """Where the libraries are missing, serve ends with 2 and names the extra; tokens can be made all the same."""
    refused = _without_extra(machine, "serve", "--port", "0")
    assert refused.returncode == 2
    assert "memory-pipeline[web]" in refused.stderr
    made = _without_extra(machine, "serve", "token", "create", "--user", "ann")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("mp_")


def _without_extra(machine: Machine, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that finds none of the libraries."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('starlette', 'uvicorn', 'jinja2', 'anyio'))); "
        "from memory_pipeline.cli.main import main; main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", code, *machine.words(*arguments)[3:]]
    return subprocess.run(words, env=machine.environment, capture_output=True, text=True, check=False)


def test_a_link_for_somebody_else_logs_them_in(machine: Machine) -> None:
    """`serve link` gives a user who has a token a way to the page, and refuses one whom nobody made."""
    assert machine.run("serve", "link", "--user", "ann").code == 2
    machine.run("serve", "token", "create", "--user", "ann")
    with serving(machine) as server:
        out = machine.run("serve", "link", "--user", "ann", "--address", server.address).out
        with httpx2.Client(follow_redirects=True) as browser:
            assert "logged in as ann" in browser.get(out.split()[-1]).text
