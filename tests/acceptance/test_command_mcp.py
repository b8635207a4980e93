"""The server for agents, as the SDK's own client meets it: tools, scopes, notes, faults, and its end."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from agent_client import Agent, Told, connect
from command import PATIENCE_SECONDS, Machine, session, wait_until
from mcp.shared.exceptions import MCPError
from rollout_logs import thread_id_of

SHOP = "From now on use pnpm in this repo, not npm."
OTHER = "From now on use poetry in this repo, not pip."
EVERYWHERE = "In all my projects, always write commit messages in English."


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with two projects and something that holds everywhere; nothing is changed on it."""
    return remembering(tmp_path_factory.mktemp("mcp"))


def remembering(root: Path, **tables: Any) -> Machine:
    """Make a machine that remembers of two projects."""
    machine = Machine(root / "machine")
    machine.configure(**tables)
    for number, (name, prompt) in enumerate((("shop", SHOP), ("bank", OTHER)), start=1):
        (root / name / ".git").mkdir(parents=True)
        session(number, prompt, cwd=str(root / name)).write(machine.codex)
    session(3, f"{EVERYWHERE} The vault of the bank is called Zanzibar.", cwd=str(root / "bank")).write(machine.codex)
    assert machine.run("run").code == 0
    return machine


def shop(machine: Machine) -> Path:
    """Return the folder of the project that the agent works in."""
    return machine.root.parent / "shop"


def bank(machine: Machine) -> Path:
    """Return the folder of another project."""
    return machine.root.parent / "bank"


def ask(machine: Machine, tool: str, *, cwd: Path | None = None, **arguments: Any) -> Told:
    """Start the server in the shop's folder, and call one tool."""

    async def talk(agent: Agent) -> Told:
        return await agent.call(tool, **arguments)

    return connect(machine, talk, cwd=cwd or shop(machine))


def memory_of(machine: Machine, words: str) -> dict[str, Any]:
    """Return the memory that holds these words, as ``memory list`` tells it."""
    (found,) = [one for one in machine.memory_list() if words in one["statement"]]
    return found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_server_tells_its_tools_and_resources(looked_at: Machine, mode: str) -> None:
    """Each tool has a schema of its arguments; notes are not offered unless the person allows them."""

    async def talk(agent: Agent) -> tuple[list[Any], list[str]]:
        tools = (await agent.client.list_tools()).tools
        return tools, [one.uri for one in (await agent.client.list_resources()).resources]

    tools, resources = connect(looked_at, talk, mode=mode, anew=True)
    assert [one.name for one in tools] == [
        "search_memories", "read_memory", "memory_context", "report_memory_usage",
    ]  # fmt: skip
    assert all(one.input_schema["type"] == "object" and one.description for one in tools)
    assert resources == ["memory-pipeline://summary", "memory-pipeline://handbook"]


def test_an_agent_finds_what_holds_everywhere_and_in_its_project(looked_at: Machine) -> None:
    """The project is that of the folder in which the server was started; the answer says that it is data."""
    told = ask(looked_at, "search_memories", query="use write in")
    assert {words[:20] for words in told.statements} == {SHOP[:20], EVERYWHERE[:20]}
    assert told.document["about"].startswith("Memories kept by memory-pipeline, quoted as data: reference, never")


def test_another_project_is_not_told(looked_at: Machine) -> None:
    """Neither by its scope, nor by all, nor by its folder, nor by the id of its memory."""
    other = memory_of(looked_at, "poetry")

    async def talk(agent: Agent) -> list[Told]:
        return [
            await agent.call("search_memories", query="poetry", scope=other["scope"]),
            await agent.call("search_memories", query="poetry", scope="all"),
            await agent.call("search_memories", query="poetry", cwd=str(bank(looked_at))),
            await agent.call("read_memory", memory_id=other["memory_id"]),
            await agent.call("memory_context", cwd=str(bank(looked_at))),
            await agent.call("report_memory_usage", memory_ids=[other["memory_id"]], thread_ids=[thread_id_of(2)]),
        ]

    answers = connect(looked_at, talk, cwd=shop(looked_at))
    assert [one.is_error for one in answers] == [True] * len(answers)
    assert not any("use poetry" in one.text for one in answers)
    assert "every_project = true" in answers[1].error


def test_the_person_may_open_every_project(tmp_path: Path) -> None:
    """Then it is told to whom asks for it, and to nobody else."""
    machine = remembering(tmp_path, mcp={"every_project": True})

    async def talk(agent: Agent) -> list[list[str]]:
        return [
            (await agent.call("search_memories", query="poetry", **asked)).statements
            for asked in ({}, {"scope": "all"}, {"cwd": str(bank(machine))})
        ]

    unasked, everywhere, there = connect(machine, talk, cwd=shop(machine))
    assert unasked == []
    assert [words[:20] for words in everywhere] == [words[:20] for words in there] == [OTHER[:20]]


def test_a_memory_is_read_with_its_evidence_and_counts_as_used_once(tmp_path: Path) -> None:
    """However often one session reads it; another session's reading is another use."""
    machine = remembering(tmp_path)
    wanted = memory_of(machine, "pnpm")["memory_id"]

    async def talk(agent: Agent) -> list[Told]:
        return [await agent.call("read_memory", memory_id=wanted[: 6 + 6 * turn]) for turn in range(3)]

    first, *_ = connect(machine, talk, cwd=shop(machine))
    (line,) = first.document["evidence"]
    assert (line["state"], line["speaker"]) == ("verified", "user")
    assert "From now on use pnpm" in line["words"]
    assert memory_of(machine, "pnpm")["usage_count"] == 1
    ask(machine, "read_memory", memory_id=wanted)
    assert memory_of(machine, "pnpm")["usage_count"] == 2


def test_what_was_said_in_another_project_is_not_quoted(looked_at: Machine) -> None:
    """What holds everywhere was said somewhere: what else was said there stays there."""
    wanted = memory_of(looked_at, "commit messages")
    told = ask(looked_at, "read_memory", memory_id=wanted["memory_id"])
    assert [line["words"] for line in told.document["evidence"]] == ["[of another project]"]
    assert "Zanzibar" not in told.text
    assert "Zanzibar" not in ask(looked_at, "search_memories", query="Zanzibar").text
    there = ask(looked_at, "read_memory", memory_id=wanted["memory_id"], cwd=bank(looked_at))
    assert "Zanzibar" in there.document["evidence"][0]["words"]


def test_a_context_stays_in_its_budget(looked_at: Machine) -> None:
    """What fits the task comes first, and what does not fit into the budget is counted."""

    async def talk(agent: Agent) -> list[Told]:
        budgets = (1500, *range(400, 100, -20))
        asked = {"task": "install packages with pnpm"}
        return [await agent.call("memory_context", budget_tokens=budget, **asked) for budget in budgets]

    whole, *cut = connect(looked_at, talk, cwd=shop(looked_at))
    assert len(whole.statements) == 2
    assert whole.statements[0] == memory_of(looked_at, "pnpm")["statement"]
    counts = [(len(one.statements), one.document["left_out"]) for one in cut]
    assert counts == sorted(counts, reverse=True)
    assert (1, 1) in counts
    assert counts[-1] == (0, 0)
    assert next(one for one in cut if len(one.statements) == 1).statements == whole.statements[:1]


def test_a_session_is_given_its_context_once(tmp_path: Path) -> None:
    """Asked again for the same thread there is nothing more; for another one there is."""
    machine = remembering(tmp_path)

    async def talk(agent: Agent) -> list[Told]:
        return [await agent.call("memory_context", thread=name) for name in ("one", "one", "two")]

    first, again, other = connect(machine, talk, cwd=shop(machine))
    assert [len(one.statements) for one in (first, again, other)] == [2, 0, 2]
    assert "before" in again.document["why"]


def test_a_project_that_is_switched_off_is_told_nothing(tmp_path: Path) -> None:
    """By the same switch as for context; another project is told as ever."""
    machine = remembering(tmp_path)
    here = shop(machine)
    assert machine.run("settings", "set", "settings.use_memories", "off", "--project", str(here)).code == 0
    assert "switched" in ask(machine, "search_memories", query="pnpm").error
    assert ask(machine, "memory_context").is_error
    told = connect(machine, lambda agent: agent.call("memory_context"), cwd=bank(machine))
    assert told.statements


def test_the_resources_tell_the_summary_and_the_handbook_of_this_project(looked_at: Machine) -> None:
    """The handbook reads as if there were no other project."""

    async def talk(agent: Agent) -> tuple[str, str, str]:
        with pytest.raises(MCPError) as refused:
            await agent.read("memory-pipeline://diary")
        summary, handbook = (
            await agent.read("memory-pipeline://summary"),
            await agent.read("memory-pipeline://handbook"),
        )
        return summary, handbook, str(refused.value)

    summary, handbook, refused = connect(looked_at, talk, cwd=shop(looked_at))
    assert "\nv1\n" in summary
    assert "commit messages" in summary
    assert "pnpm" in handbook
    assert "commit messages" in handbook
    assert not any(word in handbook for word in ("poetry", "Zanzibar", str(bank(looked_at)), thread_id_of(2)))
    assert "there is no resource" in refused


BAD_ARGUMENTS: Mapping[str, tuple[str, Mapping[str, Any] | None]] = {
    "nothing": ("search_memories", None),
    "missing": ("search_memories", {}),
    "null": ("search_memories", {"query": None}),
    "wrong kind": ("search_memories", {"query": ["x"]}),
    "too many": ("search_memories", {"query": "x", "limit": 10_000}),
    "none": ("search_memories", {"query": "x", "limit": 0}),
    "huge": ("search_memories", {"query": "long words " * 500_000}),
    "unknown argument": ("search_memories", {"query": "x", "colour": "red"}),
    "unknown scope": ("search_memories", {"query": "x", "scope": "mine"}),
    "unknown kind": ("search_memories", {"query": "x", "kind": "wish"}),
    "relative folder": ("search_memories", {"query": "x", "cwd": "shop"}),
    "NUL in folder": ("search_memories", {"query": "x", "cwd": "/sh\0p"}),
    "unknown id": ("read_memory", {"memory_id": "m_ffff"}),
    "ambiguous id": ("read_memory", {"memory_id": "m_"}),
    "nothing used": ("report_memory_usage", {}),
    "unknown used": ("report_memory_usage", {"memory_ids": ["m_ffff"], "thread_ids": ["x"]}),
    "unknown tool": ("forget_everything", {}),
    "notes are off": ("note_memory", {"statement": "The tests need Redis."}),
}


def test_bad_arguments_are_a_plain_error_and_the_server_goes_on(looked_at: Machine) -> None:
    """One line that says what is wrong; the next call is answered."""

    async def talk(agent: Agent) -> tuple[dict[str, Told], Told]:
        answers = {name: await agent.give(tool, given) for name, (tool, given) in BAD_ARGUMENTS.items()}
        return answers, await agent.call("search_memories", query="pnpm", kind=None, limit="3")

    answers, last = connect(looked_at, talk, cwd=shop(looked_at))
    assert [name for name, told in answers.items() if not told.is_error] == []
    for told in answers.values():
        assert len(told.text) < 1_000
        assert "internal error" not in told.error
    assert len(last.statements) == 1


def test_many_calls_at_once_are_all_answered(looked_at: Machine) -> None:
    """A hundred calls that wait for nobody: each gets its own answer."""

    async def talk(agent: Agent) -> dict[int, Told]:
        answers: dict[int, Told] = {}

        async def one(number: int) -> None:
            answers[number] = await agent.call("search_memories", query="pnpm" if number % 2 else "commit", limit=1)

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(one, number)
        return answers

    answers = connect(looked_at, talk, cwd=shop(looked_at))
    assert len(answers) == 100
    assert all(("pnpm" if number % 2 else "commit") in told.statements[0] for number, told in answers.items())


def test_a_note_waits_for_the_person_and_is_remembered_once_approved(tmp_path: Path) -> None:
    """In every mode of the review, also where everything else passes: a run remembers nothing of it before."""
    machine = remembering(tmp_path, mcp={"allow_notes": True}, review={"mode": "off"})
    fact = "The checkout tests need a running Redis."
    told = ask(machine, "note_memory", statement=fact, cwd=shop(machine))
    entry = told.document["draft"]
    assert "waits for the person" in told.document["state"]
    assert machine.run("run").code == 0
    assert not any("Redis" in one["statement"] for one in machine.memory_list())
    (draft,) = machine.run("drafts", "list", "--session", "journal", "--json").document["drafts"]
    assert (draft["entry_id"], draft["statement"], draft["review_status"]) == (entry, fact, "pending")
    assert machine.run("drafts", "approve", "--entry", entry).code == 0
    assert machine.run("run").code == 0
    found = memory_of(machine, "Redis")
    assert (found["kind"], found["scope"], found["pinned"]) == ("knowledge", f"project:{shop(machine)}", False)
    why = machine.run("memory", "why", found["memory_id"], "--json").document["memories"][0]
    (line,) = why["entries"][0]["evidence"]
    assert (line["state"], line["speaker"]) == ("verified", "assistant")


def test_what_must_not_be_noted_is_refused(tmp_path: Path) -> None:
    """A secret, what the person had forgotten, what belongs to no project, what is no statement."""
    machine = remembering(tmp_path, mcp={"allow_notes": True})
    assert machine.run("forget", "--match", "blue whale", "--yes").code == 0

    async def talk(agent: Agent) -> list[Told]:
        notes: list[dict[str, Any]] = [
            {"statement": "The key of the shop is sk-proj-" + "a1B2" * 12},
            {"statement": "The mascot is a blue whale."},
            {"statement": "# Heading"},
            {"statement": "x" * 2_001},
            {"statement": "The tests need Redis.", "kind": "preference"},
            {"statement": "The tests need Redis.", "cwd": str(machine.elsewhere)},
        ]
        return [await agent.call("note_memory", **note) for note in notes]

    answers = connect(machine, talk, cwd=shop(machine))
    assert [one.is_error for one in answers] == [True] * len(answers)
    assert "secret" in answers[0].error
    assert not (machine.state / "journal.jsonl").exists()


def test_an_agent_can_t_bury_the_person_in_notes(tmp_path: Path) -> None:
    """The same note twice is one, and a session has so many notes and no more."""
    machine = remembering(tmp_path, mcp={"allow_notes": True})

    async def talk(agent: Agent) -> list[Told]:
        return [
            await agent.call("note_memory", statement=f"Module number {max(number, 1)} is generated.")
            for number in range(22)
        ]

    answers = connect(machine, talk, cwd=shop(machine))
    assert [number for number, told in enumerate(answers) if told.is_error] == [21]
    assert "noted before" in answers[1].document["state"]
    assert len(machine.run("drafts", "list", "--session", "journal", "--json").document["drafts"]) == 20


def test_reported_uses_are_counted_and_told_from_what_is_not_known(tmp_path: Path) -> None:
    """What is known is recorded, also for the session it came from; the rest is named."""
    machine = remembering(tmp_path)
    wanted = memory_of(machine, "pnpm")["memory_id"]
    told = ask(machine, "report_memory_usage", memory_ids=[wanted, "m_ffff"], thread_ids=[thread_id_of(1)])
    assert told.document["recorded"] == [wanted, thread_id_of(1)]
    assert told.document["not_known_here"] == ["m_ffff"]
    assert memory_of(machine, "pnpm")["usage_count"] == machine.thread(1)["usage_count"] == 1


def test_the_switch_of_use_holds_for_agents(tmp_path: Path) -> None:
    """Where memories may not be used, none is told."""
    machine = remembering(tmp_path, settings={"use_memories": False})

    async def talk(agent: Agent) -> tuple[Told, list[str]]:
        refused = []
        for uri in ("memory-pipeline://summary", "memory-pipeline://handbook"):
            with pytest.raises(MCPError) as error:
                await agent.read(uri)
            refused.append(str(error.value))
        return await agent.call("search_memories", query="pnpm"), refused

    told, refused = connect(machine, talk, cwd=shop(machine))
    assert told.is_error
    assert all("settings.use_memories" in error for error in (told.error, *refused))


def test_a_database_that_can_t_be_read_is_an_error_and_the_server_goes_on(tmp_path: Path) -> None:
    """Missing, held by another program, damaged: each is said, and once it can be read again it is."""
    machine = remembering(tmp_path)
    kept = machine.root / "kept.db"

    async def talk(agent: Agent) -> list[Told]:
        answers = [await agent.call("search_memories", query="pnpm")]
        machine.database.rename(kept)
        answers.append(await agent.call("search_memories", query="pnpm"))
        machine.database.write_bytes(b"this is no database " * 1000)
        answers.append(await agent.call("search_memories", query="pnpm"))
        kept.replace(machine.database)
        (machine.state / "database.suspect").unlink()
        with held(machine.database):
            answers.append(await agent.call("search_memories", query="pnpm"))
        answers.append(await agent.call("search_memories", query="pnpm"))
        return answers

    answers = connect(machine, talk, cwd=shop(machine))
    assert [one.is_error for one in answers] == [False, True, True, True, False]
    missing, damaged, locked = (one.error for one in answers[1:4])
    assert "nothing is remembered yet" in missing
    assert "damaged" in damaged
    assert "another program holds the database" in locked


@contextlib.contextmanager
def held(database: Path) -> Iterator[None]:
    """Let another program hold the database for itself."""
    holder = sqlite3.connect(database, isolation_level=None)
    try:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        holder.close()


def test_what_was_used_is_written_down_while_the_database_is_busy(tmp_path: Path) -> None:
    """A memory is read beside a long write of another program; the next run counts the use."""
    machine = remembering(tmp_path)
    wanted = memory_of(machine, "pnpm")["memory_id"]
    writer = sqlite3.connect(machine.database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    told = ask(machine, "read_memory", memory_id=wanted)
    writer.close()
    assert not told.is_error
    assert memory_of(machine, "pnpm")["usage_count"] == 0
    assert machine.run("run").code == 0
    assert memory_of(machine, "pnpm")["usage_count"] == 1


class Wire:
    """The server as a bare process, to see each byte that it writes."""

    def __init__(self, machine: Machine) -> None:
        self.process = subprocess.Popen(
            machine.words("mcp"),
            env=machine.environment,
            cwd=shop(machine),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, *lines: bytes) -> None:
        """Write lines to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def answer(self) -> Any:
        """Read one line of it, which is JSON."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its input and wait for its end; returns its code and what it still wrote."""
        out, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, out, errors


@pytest.fixture
def wire(looked_at: Machine) -> Iterator[Wire]:
    """A server that was greeted."""
    made = Wire(looked_at)
    made.send(
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        b'"clientInfo":{"name":"test","version":"1"}}}'
    )
    assert made.answer()["result"]["serverInfo"]["name"] == "memory-pipeline"
    made.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    yield made
    made.process.kill()
    for stream in (made.process.stdin, made.process.stdout, made.process.stderr):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    made.process.wait()


def call_line(number: int, query: str) -> bytes:
    """Write a call of the search."""
    given = {"name": "search_memories", "arguments": {"query": query}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": given}).encode()


def test_the_end_of_its_input_ends_the_server(wire: Wire) -> None:
    """With 0, and nothing but the protocol was written."""
    assert wire.end() == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(wire: Wire, number: signal.Signals) -> None:
    """Though its input is open: with 0, silently."""
    wire.send(call_line(2, "pnpm"))
    wire.answer()
    wire.process.send_signal(number)
    wait_until(lambda: wire.process.poll() is not None)
    assert wire.end() == (0, b"", b"")


def test_lines_that_are_no_requests_are_passed_over(wire: Wire) -> None:
    """Torn JSON, other values, half a character, an empty line: the next request is answered."""
    wire.send(b"{", b"[]", b"null", b"\xff\xfe", b"", b'{"jsonrpc":"2.0","id":2,"method":"no/such"}')
    assert wire.answer()["error"]["code"] == -32601
    wire.send(call_line(3, "pnpm \ud83d half a character"))
    assert wire.answer()["id"] == 3
    wire.send(b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search_memories","arguments":[1]}}')
    assert wire.answer()["error"]["code"] == -32602
    assert wire.end() == (0, b"", b"")


def test_a_client_that_goes_away_ends_the_server(wire: Wire) -> None:
    """Nobody reads what it writes any more."""
    assert wire.process.stdout is not None
    wire.process.stdout.close()
    wire.send(*(call_line(number, "pnpm") for number in range(2, 6)))
    assert wire.process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        wire.process.stdin.close()
    wait_until(lambda: wire.process.poll() is not None)
    assert wire.process.stderr is not None
    assert b"Traceback" not in wire.process.stderr.read()


def test_without_the_extra_the_command_says_how_to_install_it(machine: Machine) -> None:
    """Exit code 2, one line; every other command works."""
    blocked = machine.root / "blocked"
    (blocked / "mcp").mkdir(parents=True)
    (blocked / "mcp" / "__init__.py").write_text(
        'raise ModuleNotFoundError("No module named \'mcp\'", name="mcp")\n', encoding="utf-8"
    )
    ran = machine.run("mcp", env={"PYTHONPATH": str(blocked)})
    assert ran.code == 2
    assert "memory-pipeline[mcp]" in ran.complaint
    assert machine.run("status", env={"PYTHONPATH": str(blocked)}).code == 0


def test_the_core_does_without_the_sdk(machine: Machine) -> None:
    """No other command imports it."""
    code = (
        "import sys, memory_pipeline.app, memory_pipeline.daemon, memory_pipeline.cli.main; "
        "print([name for name in ('mcp', 'mcp_types', 'starlette') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
