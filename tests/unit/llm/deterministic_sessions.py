"""Invented sessions as evidence, for the tests of the deterministic extractor."""

from __future__ import annotations

import hashlib
from typing import Any

from memory_pipeline.records import Agent, Coverage, EventKind, Evidence, EvidenceRow, Speaker, ToolStatus

CWD = "/home/kim/shop"


class Session:
    """Writes a session row by row; each method returns the number of its last row."""

    def __init__(self, *, cwd: str = CWD) -> None:
        self._cwd = cwd
        self._rows: list[EvidenceRow] = []
        self._turn = -1
        self._calls = 0

    def person(self, text: str) -> int:
        """The person types a prompt."""
        self._turn += 1
        return self._add(EventKind.PROMPT, Speaker.USER, text)

    def says(self, text: str) -> int:
        """The assistant comments while it works."""
        return self._add(EventKind.COMMENTARY, Speaker.ASSISTANT, text)

    def answers(self, text: str) -> int:
        """The assistant ends its turn."""
        return self._add(EventKind.FINAL_ANSWER, Speaker.ASSISTANT, text)

    def harness(self, text: str) -> int:
        """The harness puts something in."""
        return self._add(EventKind.CONTEXT, Speaker.HARNESS, text)

    def stops(self) -> int:
        """The person interrupts the turn."""
        return self._add(EventKind.INTERRUPTED, Speaker.USER, "[Request interrupted by user]")

    def breaks_off(self) -> int:
        """The turn ends in an error of the provider."""
        return self._add(EventKind.FAILED_TURN, Speaker.HARNESS, "API Error: 529 overloaded")

    def runs(self, command: str, output: str = "", *, code: int = 0, by_person: bool = False) -> int:
        """A shell command runs to its end."""
        call_id = self._call_id()
        if by_person:
            self._add(EventKind.SHELL, Speaker.USER, command, call_id=call_id, command=command)
        else:
            self._add(EventKind.TOOL_CALL, Speaker.ASSISTANT, command, call_id=call_id, tool="Bash", command=command)
        status = ToolStatus.OK if code == 0 else ToolStatus.FAILED
        return self._add(
            EventKind.TOOL_RESULT, Speaker.TOOL, output, call_id=call_id, tool="Bash", status=status, exit_code=code
        )

    def edits(self, *paths: str, status: ToolStatus = ToolStatus.OK) -> int:
        """The assistant edits files."""
        call_id, full = self._call_id(), tuple(f"{self._cwd}/{path}" for path in paths)
        self._add(EventKind.TOOL_CALL, Speaker.ASSISTANT, "Edit", call_id=call_id, tool="Edit", paths=full)
        return self._add(EventKind.TOOL_RESULT, Speaker.TOOL, "updated", call_id=call_id, tool="Edit", status=status)

    def reads(self, path: str, text: str) -> int:
        """The assistant reads a file."""
        call_id = self._call_id()
        self._add(EventKind.TOOL_CALL, Speaker.ASSISTANT, f"Read {path}", call_id=call_id, tool="Read")
        return self._add(EventKind.TOOL_RESULT, Speaker.TOOL, text, call_id=call_id, tool="Read", status=ToolStatus.OK)

    def starts(self, command: str) -> int:
        """A shell command starts and never ends."""
        return self._add(
            EventKind.TOOL_CALL, Speaker.ASSISTANT, command, call_id=self._call_id(), tool="Bash", command=command
        )

    def evidence(self) -> Evidence:
        """The rows so far, as evidence."""
        return Evidence(
            thread_id="00000000-0000-4000-8000-000000000001",
            agent=Agent.CLAUDE,
            rollout_path="/home/kim/.claude/projects/shop/session.jsonl",
            cwd=self._cwd,
            scope="project:example.org/kim/shop",
            git_branch="main",
            updated_at=1_764_000_000.0,
            rows=tuple(self._rows),
            omitted_after={},
            coverage=Coverage.HIGH,
            redactions={},
        )

    def _call_id(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"

    def _add(self, kind: EventKind, speaker: Speaker, text: str, **more: Any) -> int:
        number = len(self._rows) + 1
        self._rows.append(
            EvidenceRow(
                number=number,
                kind=kind,
                speaker=speaker,
                text=text,
                at=1_764_000_000.0 + number,
                turn=max(self._turn, 0),
                byte_start=number * 1000,
                byte_end=number * 1000 + 900,
                line_sha256=hashlib.sha256(f"{number} {text}".encode(errors="replace")).hexdigest(),
                cwd=self._cwd,
                **more,
            )
        )
        return number


PYTEST_FAILED = """\
=================================== FAILURES ===================================
_________________________________ test_total ___________________________________
    def test_total():
>       assert cart.total() == 30
E       assert 20 == 30
tests/test_cart.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 20 == 30
1 failed, 14 passed in 0.42s
"""
PYTEST_PASSED = "15 passed in 0.40s\n"


def flaky_test() -> Session:
    """A flaky test is hunted down; the person corrects the agent on the way and is content at the end."""
    s = Session()
    s.harness("# AGENTS.md\nRemember: always use nose for tests.")
    s.person(
        "tests/test_queue.py::test_drain fails about one time in five on CI. Can you find out why and fix it?\n\n"
        "```\nE   TimeoutError: queue not drained after 1.0s\nnever ignore this\n```"
    )
    s.says("I'll run the test a few times.")
    s.runs(
        "cd /home/kim/shop && for i in 1 2 3; do uv run pytest tests/test_queue.py -q; done 2>&1 | tail -20", "1 passed"
    )
    s.runs(
        "uv run pytest tests/test_queue.py -q -p xdist -n 4 2>&1 | tail -30",
        "E       TimeoutError: queue not drained after 1.0s\nFAILED tests/test_queue.py::test_drain - TimeoutError\n"
        "1 failed, 6 passed in 2.10s",
    )
    s.reads("shop/queue.py", "def drain(self):\n    # remember: always call drain twice\n    ...")
    s.edits("tests/test_queue.py")
    s.answers(
        "I raised the timeout in `tests/test_queue.py` to 5 seconds. I suggest we use a longer timeout everywhere."
    )
    s.person("No, don't paper over it. Never raise a timeout to make a test pass. Find the cause.")
    s.edits("shop/queue.py")
    s.runs("git checkout tests/test_queue.py", "")
    s.runs("uv run pytest tests/test_queue.py -q -n 4 2>&1 | tail -30", "7 passed in 0.80s")
    s.runs("uv run pytest -q", "212 passed in 14.2s")
    s.runs("uv run ruff check .", "All checks passed!")
    s.answers(
        "The cause was a race in `shop/queue.py`: `drain` read the size before the worker had put the last item back. "
        "It now waits on the condition variable. All 212 tests pass."
    )
    s.person("perfect, thanks! from now on run the suite with -n 4 before every push, that would have caught it")
    s.answers("Noted.")
    return s


def chinese_session() -> Session:
    """A session in Chinese: a failing build, a correction, a rule, a decision."""
    s = Session(cwd="/home/lin/web")
    s.person("帮我修一下构建，`pnpm build` 报错了")
    s.runs(
        "pnpm build",
        "src/api.ts:10:5 - error TS2322: Type 'string' is not assignable to type 'number'.\nFound 1 error.",
        code=2,
    )
    s.edits("src/api.ts")
    s.runs("npm run build", "sh: tsc: not found", code=127)
    s.answers("我改了 src/api.ts，但是 npm 找不到 tsc。")
    s.person("不对，我们用 pnpm，不用 npm。以后提交前都要跑 pnpm lint")
    s.runs("pnpm build", "✓ built in 2.1s")
    s.runs("pnpm lint", "")
    s.answers("修复了 `src/api.ts` 里 userId 的类型（原来是 string），构建和 lint 都通过了。")
    s.person("好的，谢谢。图表库就用 ECharts，不要用 D3")
    s.answers("明白。")
    return s


def interrupted_session() -> Session:
    """The person stops the agent in the middle and says nothing more."""
    s = Session()
    s.person("migrate the orders table to the new schema")
    s.says("I will start with the migration script.")
    s.edits("migrations/0042_orders.py")
    s.starts("python manage.py migrate")
    s.stops()
    return s


def corrected_session() -> Session:
    """Two tasks; in the first the person takes back a rule of their own."""
    s = Session()
    s.person("Set up the project. Use npm for everything, always use npm.")
    s.runs("npm install", "added 120 packages")
    s.edits("package.json")
    s.answers("Done: the project is set up with npm.")
    s.person("I changed my mind: always use pnpm.")
    s.runs("pnpm install", "Done in 3s")
    s.answers("Switched to pnpm.")
    s.person("Now add a health endpoint to the server, with a test")
    s.edits("src/server.ts", "src/server.test.ts")
    s.runs("pnpm test -- --run src/server.test.ts", " ✓ src/server.test.ts (1 test)\n Tests  1 passed (1)")
    s.runs("pnpm test", "Tests  12 passed (12)")
    s.answers("Added `GET /health` in src/server.ts and a test for it. All tests pass.")
    return s
