"""How fast logs are read, against decoding every line, and within how much memory.

Run: python benchmarks/reading.py [--megabytes N] [--runs N] [--huge-megabytes N] [--files N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from memory_pipeline.clock import SystemClock
from memory_pipeline.config import Config, SourceConfig, SourcesConfig
from memory_pipeline.phase1.index import index_rollouts
from memory_pipeline.records import Agent, RolloutFile
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.reading import read_events, read_facts
from memory_pipeline.store.store import Store

MAX_BYTES = 1 << 40
ROWS = 1000
THREAD = "0a1b2c3d-1111-4222-8333-4444555566{:02d}"
START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
WORDS = (
    "def total(cart): return sum(line.price * line.count for line in cart)",
    '    assert response.json() == {"id": 7, "state": "paid"}, response.text',
    "src/shop/cart.py:41:17: E501 line too long (131 > 120 characters)",
    "tests/test_cart.py::test_total[3-19.99] PASSED                      [ 42%]",
    "2026-11-20T09:14:03.118Z INFO  shop.worker  order 4711 sent in 38 ms",
    "-rw-r--r-- 1 sam sam 12224 Nov 20 23:15 ./src/cart/total.test.ts",
    "+    token = self.tokens.next()  # the next token of the parser",
    "这个测试失败了，因为数据库没有启动，需要先运行迁移脚本。",
)


class Invented:
    """Lines of one invented log. The same seed gives the same lines."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def output(self) -> str:
        """Give a tool's output: two kilobytes as a rule, now and then forty."""
        size = min(40_000, int(self._random.lognormvariate(7.7, 1.1)))
        lines = []
        while size > 0:
            lines.append(self._random.choice(WORDS))
            size -= len(lines[-1])
        return "\n".join(lines)

    def image(self) -> str:
        """Give an inline image of 1.5 to 6 MB."""
        piece = "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 1000
        return "data:image/png;base64," + piece * self._random.randint(54, 220)

    def opaque(self, length: int) -> str:
        """Give text that looks encrypted."""
        return self._random.randbytes(length // 2).hex()

    def uuid(self) -> str:
        """Give an id of a record."""
        text = self._random.randbytes(16).hex()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"

    def stamp(self) -> str:
        """Give the time of the next record."""
        self._number += 1
        return (START + timedelta(milliseconds=700 * self._number)).isoformat(timespec="milliseconds")[:-6] + "Z"


class CodexLog(Invented):
    """A paginated rollout: every command's output stands in it twice."""

    agent = Agent.CODEX

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield lines without end."""
        yield self._line(
            "session_meta", id=THREAD.format(1), timestamp=self.stamp(), cwd="/home/sam/shop", source="cli"
        )
        for turn in range(1, sys.maxsize):
            yield from self._turn(turn)

    def _turn(self, turn: int) -> Iterator[dict[str, Any]]:
        yield self._event("task_started", turn_id=self.uuid(), model_context_window=258_400)
        yield self._line("turn_context", turn_id=self.uuid(), cwd="/home/sam/shop", instructions="Be brief. " * 120)
        wish = f"Please make the cart round the total of order {turn} to cents."
        yield self._message("user", [{"type": "input_text", "text": wish}], content_item_kinds=["user.text"])
        yield self._item("UserMessage", id=self.uuid(), content=[{"type": "text", "text": wish}])
        for _ in range(12):
            yield from self._round()
        if turn % 25 == 0:
            yield from self._call("view_image", "{}", [{"type": "input_image", "image_url": self.image()}])
        if turn % 20 == 0:
            history = [{"type": "message", "role": "user", "content": self.output()} for _ in range(100)]
            yield self._line("compacted", message="Summary.", replacement_history=history)
        yield self._message("assistant", [{"type": "output_text", "text": "Done. " * 60}], phase="final_answer")
        yield self._event("task_complete", turn_id=self.uuid(), last_agent_message="Done. " * 60)

    def _round(self) -> Iterator[dict[str, Any]]:
        yield self._response("reasoning", id=self.uuid(), summary=[], encrypted_content=self.opaque(1600))
        text = self.output()
        header = "Chunk ID: c0ffee\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
        yield from self._call("exec_command", json.dumps({"cmd": "rg -n total src | head"}), header + text)
        usage = {"input_tokens": 21_000, "cached_input_tokens": 18_000, "output_tokens": 512, "total_tokens": 21_512}
        limit = {"used_percent": 11.5, "window_minutes": 300, "resets_at": 1795990000}
        yield self._line("token_usage_record", turn_id=self.uuid(), usage=usage, ids=[self.uuid() for _ in range(12)])
        info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
        yield self._event("token_count", info=info, rate_limits={"primary": limit, "secondary": limit})

    def _call(self, name: str, arguments: str, output: Any) -> Iterator[dict[str, Any]]:
        call_id = "call_" + self.uuid().replace("-", "")[:24]
        marks = {"internal_chat_message_metadata_passthrough": {"turn_id": self.uuid()}}
        yield self._response("function_call", id="fc_1", name=name, arguments=arguments, call_id=call_id, **marks)
        if isinstance(output, str):
            yield self._item(
                "CommandExecution",
                {"started_at_ms": 1795985423806, "completed_at_ms": 1795985424041},
                id=call_id,
                process_id="37039",
                command=["/bin/bash", "-lc", "rg -n total src | head"],
                cwd="file:///home/sam/shop",
                parsed_cmd=[{"type": "unknown", "cmd": "rg -n total src"}],
                source="unified_exec_startup",
                status="completed",
                aggregated_output=output,
                exit_code=0,
                duration={"secs": 0, "nanos": 234780513},
            )
        yield self._response("function_call_output", id="fco_1", call_id=call_id, output=output, **marks)

    def _message(self, role: str, content: list[Any], **more: Any) -> dict[str, Any]:
        marks = {"content_item_kinds": more.pop("content_item_kinds", ["unknown"])}
        return self._response(
            "message", role=role, content=content, internal_chat_message_metadata_passthrough=marks, **more
        )

    def _response(self, kind: str, **payload: Any) -> dict[str, Any]:
        return self._line("response_item", type=kind, **payload)

    def _event(self, kind: str, **payload: Any) -> dict[str, Any]:
        return self._line("event_msg", type=kind, **payload)

    def _item(self, kind: str, after: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        item = {"type": kind, **fields}
        return self._event(
            "item_completed", thread_id=THREAD.format(1), turn_id=self.uuid(), item=item, **(after or {})
        )

    def _line(self, line_type: str, /, **payload: Any) -> dict[str, Any]:
        return {"timestamp": self.stamp(), "ordinal": self._number, "type": line_type, "payload": payload}


class ShortCodexLog(CodexLog):
    """A rollout of nothing but short lines: the worst case, since each costs some work whatever its length."""

    def _turn(self, turn: int) -> Iterator[dict[str, Any]]:
        yield self._event("task_started")
        yield self._response("message", role="user", content=[{"type": "input_text", "text": f"Go on with {turn}."}])
        yield self._event("user_message", message=f"Go on with {turn}.")
        for number in range(20):
            call_id = f"call_{turn}_{number}"
            yield self._response("function_call", name="shell", arguments='{"command":["ls"]}', call_id=call_id)
            yield self._response("function_call_output", call_id=call_id, output="ok")
            yield self._event("agent_reasoning", text="Look.")
        yield self._response("message", role="assistant", content=[{"type": "output_text", "text": "Done."}])


class ClaudeLog(Invented):
    """A transcript of the newest version: requests, attachments, and results that stand in a line twice."""

    agent = Agent.CLAUDE
    requests = True

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield lines without end."""
        for turn in range(1, sys.maxsize):
            yield self._talk("user", {"role": "user", "content": f"Make order {turn} right."}, promptSource="typed")
            if self.requests:
                yield self._attachment("prompt_snapshot", systemPrompt=[self.output() for _ in range(4)])
            for _ in range(12):
                yield from self._round()
            if turn % 25 == 0:
                source = {"type": "base64", "media_type": "image/png", "data": self.image()[22:]}
                yield from self._call("Read", [{"type": "image", "source": source}])
            yield self._said([{"type": "text", "text": "Done. " * 60}], "end_turn")

    def _round(self) -> Iterator[dict[str, Any]]:
        if self.requests:
            shape = {"model": "claude-opus-5-5", "betas": [self.uuid() for _ in range(20)]}
            yield {"type": "api-request", "sessionId": THREAD.format(2), "timestamp": self.stamp(), "params": shape}
            yield {"type": "api-request-blob", "sessionId": THREAD.format(2), "message": {"content": self.output()}}
            yield {"type": "last-prompt", "lastPrompt": "Make it right.", "sessionId": THREAD.format(2)}
        yield self._said([{"type": "thinking", "thinking": "Look. " * 50, "signature": self.opaque(400)}], "tool_use")
        yield from self._call("Bash", self.output())

    def _call(self, tool: str, content: Any) -> Iterator[dict[str, Any]]:
        call_id = "toolu_" + self.uuid().replace("-", "")[:24]
        given = {"command": "rg -n total src | head", "description": "Search"}
        yield self._said([{"type": "tool_use", "id": call_id, "name": tool, "input": given}], "tool_use")
        result = {"tool_use_id": call_id, "type": "tool_result", "content": content, "is_error": False}
        beside = {"stdout": content, "stderr": "", "interrupted": False, "isImage": False}
        yield self._talk("user", {"role": "user", "content": [result]}, toolUseResult=beside)

    def _said(self, content: list[Any], stop_reason: str) -> dict[str, Any]:
        usage = {"input_tokens": 1200, "cache_creation_input_tokens": 0, "output_tokens": 50, "service_tier": "x"}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
        return self._talk(
            "assistant", {**message, "content": content, "stop_reason": stop_reason, "usage": usage}, requestId="req_1"
        )

    def _attachment(self, kind: str, **fields: Any) -> dict[str, Any]:
        head = {"parentUuid": self.uuid(), "isSidechain": False, "attachment": {"type": kind, **fields}}
        return {**head, "type": "attachment", "uuid": self.uuid(), "timestamp": self.stamp()}

    def _talk(self, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        ids = {"uuid": self.uuid(), "timestamp": self.stamp()}
        session = {"userType": "external", "entrypoint": "cli", "cwd": "/home/sam/shop", "sessionId": THREAD.format(2)}
        head = {"parentUuid": self.uuid(), "isSidechain": False, "type": kind, "message": message}
        return {**head, **ids, **more, **session, "version": "2.1.332", "gitBranch": "main"}


class OlderClaudeLog(ClaudeLog):
    """A transcript of an older version: nothing but talk and tool results."""

    requests = False


class ShortClaudeLog(ClaudeLog):
    """A transcript of nothing but short lines, as the first versions wrote them."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield lines without end."""
        for turn in range(1, sys.maxsize):
            yield self._short("user", f"Go on with {turn}.")
            for number in range(20):
                call_id = f"toolu_{turn}_{number}"
                given = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}
                yield self._short("assistant", [given])
                yield self._short("user", [{"type": "tool_result", "tool_use_id": call_id, "content": "ok"}])
                yield {"type": "progress"}
            yield self._short("assistant", [{"type": "text", "text": "Done."}])

    def _short(self, kind: str, content: Any) -> dict[str, Any]:
        return {"type": kind, "uuid": self.uuid(), "timestamp": self.stamp(), "message": {"content": content}}


def write_log(log: CodexLog | ClaudeLog, home: Path, size: int) -> RolloutFile:
    """Write a log of at least ``size`` bytes where its agent would, a line at a time, and find it."""
    folder = home / ("sessions/2026/11/20" if log.agent is Agent.CODEX else "projects/-home-sam-shop")
    folder.mkdir(parents=True)
    thread = THREAD.format(1 if log.agent is Agent.CODEX else 2)
    name = f"rollout-2026-11-20T09-00-00-{thread}.jsonl" if log.agent is Agent.CODEX else f"{thread}.jsonl"
    with (folder / name).open("wb", buffering=1 << 20) as file:
        for line in log.lines():
            size -= file.write(orjson.dumps(line) + b"\n")
            if size <= 0:
                break
    (found,) = find_rollouts(log.agent, str(home))
    return found


def decode_every_line(path: str) -> None:
    """Do the least that any reader does."""
    with Path(path).open("rb") as file:
        for line in file:
            orjson.loads(line)


def facts_of(file: RolloutFile, home: Path) -> None:
    """Read the facts, redaction and judgement of directions apart."""
    read_facts(file, str(home), max_bytes=MAX_BYTES, gives_direction=lambda _: False, redact_text=lambda text: text)


def events_of(file: RolloutFile, home: Path) -> None:
    """Read all events, and hash the lines of as many as a large model's evidence holds rows."""
    reading = read_events(file, str(home), max_bytes=MAX_BYTES)
    rows = deque(((event.byte_start, event.byte_end) for event in reading), maxlen=ROWS)
    reading.hash_lines(rows)


def seconds_of(work: Callable[[], object]) -> float:
    """Give the processor's time of one run: what else the machine does meanwhile does not count."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measure_speed(folder: Path, megabytes: int, runs: int) -> None:
    """Print MB/s of each reading beside that of decoding; each is the median of runs that take turns."""
    print(f"{'':18}{'MB':>7}{'decoding':>10}{'facts':>8}{'ratio':>7}{'events':>8}{'ratio':>7}   redaction of its words")
    logs = {
        "Codex": CodexLog(1),
        "Claude Code": ClaudeLog(2),
        "Claude Code, older": OlderClaudeLog(3),
        "Codex, short": ShortCodexLog(6),
        "Claude Code, short": ShortClaudeLog(7),
    }
    for name, log in logs.items():
        home = folder / name.replace(" ", "-")
        is_short = isinstance(log, ShortCodexLog | ShortClaudeLog)
        file = write_log(log, home, megabytes * (100_000 if is_short else 1_000_000))
        works = (
            lambda file=file: decode_every_line(file.path),
            lambda file=file, home=home: facts_of(file, home),
            lambda file=file, home=home: events_of(file, home),
        )
        taken = [[seconds_of(work) for work in works] for _ in range(runs)]
        decoding, facts, events = (statistics.median(column) for column in zip(*taken, strict=True))
        size = file.size / 1e6
        print(
            f"{name:18}{size:7.0f}{size / decoding:10.0f}{size / facts:8.0f}{decoding / facts:7.2f}"
            f"{size / events:8.0f}{decoding / events:7.2f}   {redaction_speed(file, home)}"
        )


def redaction_speed(file: RolloutFile, home: Path) -> str:
    """Redact the words of a log's beginning, as making its evidence would."""
    texts: list[str] = []
    size = 0
    for event in read_events(file, str(home), max_bytes=MAX_BYTES):
        texts.append(event.text)
        size += len(event.text)
        if size > 8_000_000:
            break
    seconds = seconds_of(lambda: [redact(text) for text in texts])
    return f"{size / 1e6 / seconds:.0f} MB/s"


def measure_memory(folder: Path, megabytes: int) -> None:
    """Print the peak memory of a process that reads a huge log, its start included."""
    for name, log in {"Codex": CodexLog(4), "Claude Code": ClaudeLog(5)}.items():
        home = folder / f"huge-{name.replace(' ', '-')}"
        file = write_log(log, home, megabytes * 1_000_000)
        for reading in ("facts", "events"):
            command = [sys.executable, __file__, "--read", reading, log.agent.value, str(home)]
            peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(f"{name}, {file.size / 1e6:.0f} MB, {reading}: peak memory {peak / 1e6:.0f} MB")
        Path(file.path).unlink()


def read_and_print_peak(reading: str, agent: str, home: str) -> None:
    """Read one log in this process and print its peak memory in bytes."""
    (file,) = find_rollouts(Agent(agent), home)
    (facts_of if reading == "facts" else events_of)(file, Path(home))
    print(peak_memory_bytes())


def peak_memory_bytes() -> int:
    """Give the peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage tells includes the parent's memory at the fork.
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_second_pass(folder: Path, files: int, runs: int) -> None:
    """Print how long a pass over unchanged files takes, against listing them and asking for their status."""
    home = folder / "many"
    for number in range(files):
        day = home / f"sessions/2026/{number % 12 + 1:02d}/{number % 28 + 1:02d}"
        day.mkdir(parents=True, exist_ok=True)
        thread = f"0a1b2c3d-1111-4222-8333-{number:012d}"
        meta = {"id": thread, "timestamp": "2026-11-20T09:00:00Z", "cwd": "/home/sam/shop", "source": "cli"}
        line = {"timestamp": "2026-11-20T09:00:00Z", "type": "session_meta", "payload": meta}
        (day / f"rollout-2026-11-20T09-00-00-{thread}.jsonl").write_bytes(orjson.dumps(line) + b"\n")
    codex = SourceConfig(home=str(home))
    config = Config(
        state_dir=str(folder / "state"),
        memories_dir=str(folder / "state/memories"),
        sources=SourcesConfig(codex=codex, claude=SourceConfig(home=str(folder / "none"), enabled=False)),
    )
    (folder / "state").mkdir()
    store = Store(folder / "state" / "memory.db")
    index_rollouts(config, store, SystemClock())
    works = (
        lambda: list_and_stat(str(home)),
        lambda: list(find_rollouts(Agent.CODEX, str(home))),
        lambda: index_rollouts(config, store, SystemClock()),
    )
    taken = [[seconds_of(work) for work in works] for _ in range(runs)]
    plain, finding, indexing = (statistics.median(column) for column in zip(*taken, strict=True))
    print(
        f"second pass over {files} unchanged files: listing and status alone {plain * 1000:.0f} ms; "
        f"finding {finding * 1000:.0f} ms ({finding / plain:.1f} times), "
        f"indexing {indexing * 1000:.0f} ms ({indexing / plain:.1f} times)"
    )


def list_and_stat(folder: str) -> None:
    """List a tree and ask for the status of every file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                list_and_stat(entry.path)
            else:
                entry.stat()


def main(arguments: list[str]) -> None:
    """Measure what was asked for, in a folder that is deleted afterwards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100, help="size of each log whose speed is measured; 0: none")
    parser.add_argument("--runs", type=int, default=7, help="how often each is read")
    parser.add_argument("--huge-megabytes", type=int, default=1000, help="size of the log for memory; 0: none")
    parser.add_argument("--files", type=int, default=10_000, help="how many unchanged files; 0: none")
    parser.add_argument("--read", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.read:
        read_and_print_peak(*options.read)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.megabytes:
            measure_speed(folder, options.megabytes, options.runs)
        if options.huge_megabytes:
            measure_memory(folder, options.huge_megabytes)
        if options.files:
            measure_second_pass(folder, options.files, options.runs)


if __name__ == "__main__":
    main(sys.argv[1:])
