"""What the machinery costs: phase one around a model, the index, claims, and phase two around many memories.

Run: python benchmarks/machinery.py [--runs N] [--rollouts N] [--files N] [--threads N] [--full] [--json F] [PART ...]

Parts: extract, index, idle, claim, consolidate. Without one, all. Everything is invented, in a folder that is deleted.
Each figure is the median of several runs; a ratio compares what took turns within one run of this script.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from reading import list_and_stat, peak_memory_bytes, seconds_of

THREAD = "0a1b2c3d-1111-4222-8333-{:012d}"
FIRST_DAY = datetime(2026, 9, 1, 9, 0, tzinfo=UTC)
IN_FLIGHT = 8
SLOW_SECONDS = 0.5
WORDS = (
    "def total(cart): return sum(line.price * line.count for line in cart)",
    "src/shop/cart.py:41:17: E501 line too long (131 > 120 characters)",
    "tests/test_cart.py::test_total[3-19.99] PASSED                      [ 42%]",
    "2026-11-20T09:14:03.118Z INFO  shop.worker  order 4711 sent in 38 ms",
)
ANSWER = {
    "rollout_summary": "The cart rounds to cents now.",
    "rollout_slug": "round_the_cart",
    "tasks": [
        {
            "title": "Round the cart",
            "outcome": "success",
            "entries": [{"kind": "preference", "statement": "Please round to cents.", "evidence": [1]}],
        }
    ],
}

Figures = dict[str, Any]


def rollout_lines(number: int, size: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the lines of one interactive Codex session of about ``size`` bytes, an hour long."""
    began = FIRST_DAY + timedelta(minutes=4 * number)

    def line(minute: float, kind: str, **payload: Any) -> dict[str, Any]:
        at = (began + timedelta(minutes=minute)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"timestamp": at, "type": kind, "payload": payload}

    shop = f"shop-{number % 40}"
    git = {"branch": "main", "repository_url": f"https://example.org/sam/{shop}.git"}
    meta = {"timestamp": began.isoformat(), "cwd": f"/home/sam/{shop}", "originator": "codex_cli", "git": git}
    yield line(0, "session_meta", id=THREAD.format(number), source="cli", cli_version="0.171.0", **meta)
    wish = [{"type": "input_text", "text": f"Please round to cents. Always tell me about order {number} first."}]
    yield line(0, "response_item", type="message", role="user", content=wish)
    written, call = 600, 0
    while written < size:
        call += 1
        output = "\n".join(rng.choice(WORDS) for _ in range(rng.randint(10, 60)))
        written += len(output) + 500
        given = json.dumps({"command": ["bash", "-lc", "rg -n total src | head"]})
        yield line(call / 10, "response_item", type="function_call", name="shell", arguments=given, call_id=f"c{call}")
        yield line(call / 10, "response_item", type="function_call_output", call_id=f"c{call}", output=output)
    said = [{"type": "output_text", "text": "Done: the cart rounds to cents now. " * 8}]
    yield line(60, "response_item", type="message", role="assistant", content=said)


def write_rollouts(home: Path, count: int, sizes: tuple[int, int], *, first: int = 0) -> int:
    """Write so many rollouts of sizes between these; returns the bytes of all. They were last written two hours ago."""
    rng = random.Random(count)
    total = 0
    then = time.time() - 7200
    for number in range(first, first + count):
        began = FIRST_DAY + timedelta(minutes=4 * number)
        folder = home / "sessions" / began.strftime("%Y/%m/%d")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-{began.strftime('%Y-%m-%dT%H-%M-%S')}-{THREAD.format(number)}.jsonl"
        written = b"".join(orjson.dumps(line) + b"\n" for line in rollout_lines(number, rng.randint(*sizes), rng))
        path.write_bytes(written)
        os.utime(path, (then, then))
        total += len(written)
    return total


def write_config(folder: Path, home: Path, *, base_url: str = "", **gates: Any) -> Path:
    """Write a configuration that reads this home alone."""
    limits = {"max_age_days": 36500} | gates
    model = {"provider": "openai", "base_url": base_url, "extract_model": "m", "consolidation_model": ""}
    tables: dict[str, dict[str, Any]] = {
        "sources.codex": {"home": str(home)},
        "sources.claude": {"enabled": False},
        "gates": limits,
        "phase1": {"max_jobs_per_run": 1_000_000, "concurrency": IN_FLIGHT},
        "model": model if base_url else {"provider": "deterministic"},
    }
    lines = [f'state_dir = "{folder / "state"}"']
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    path = folder / "config.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure_extraction(folder: Path, options: argparse.Namespace) -> Figures:
    """Phase one around a model that answers at once, and one that takes half a second, in a program that runs already.

    Its first pass, over a few rollouts, loads what there is to load, and is told apart.
    """
    staged = folder / "staged"
    size = write_rollouts(staged, options.rollouts, (30_000, 100_000), first=IN_FLIGHT)
    figures: Figures = {"rollouts": options.rollouts, "bytes": size}
    for name, delay in (("at_once", 0.0), ("slow", SLOW_SECONDS)):
        told = []
        with Serving(delay) as base_url:
            for _ in range(options.runs):
                work = folder / "work"
                write_rollouts(work / "home", IN_FLIGHT, (30_000, 100_000))
                config = write_config(work, work / "home", base_url=base_url)
                told.append(in_a_process("--extract", str(config), str(staged), str(work / "home")))
                assert told[-1]["succeeded"] == options.rollouts, told
                shutil.rmtree(work)
        seconds = statistics.median(one["seconds"] for one in told)
        figures[name] = {
            "seconds": round(seconds, 3),
            "with_review_seconds": round(statistics.median(one["whole_seconds"] for one in told), 3),
            "processor_seconds": round(statistics.median(one["processor_seconds"] for one in told), 3),
            "rollouts_a_second": round(options.rollouts / seconds, 1),
            "first_pass_seconds": round(statistics.median(one["first_seconds"] for one in told), 3),
            "peak_mb": round(statistics.median(one["peak_bytes"] for one in told) / 1e6, 1),
        }
    ideal = options.rollouts * SLOW_SECONDS / IN_FLIGHT
    figures["slow"]["over_ideal_percent"] = round((figures["slow"]["seconds"] / ideal - 1) * 100, 1)
    return figures


def extract_and_tell(config_path: str, staged: str, home: str) -> None:
    """Run phase one in this process over a few rollouts, then over those that are staged, and print how it went."""
    from memory_pipeline.app import App
    from memory_pipeline.config import load_config
    from memory_pipeline.pipeline import PassOptions

    os.environ["OPENAI_API_KEY"] = "not-a-key"
    with App(load_config(config_path)) as app:
        began = time.perf_counter()
        app.run_once(PassOptions(phase2=False))
        first = time.perf_counter() - began
        shutil.copytree(Path(staged) / "sessions", Path(home) / "sessions", dirs_exist_ok=True)
        spent, began = time.process_time(), time.perf_counter()
        counts = app.run_once(PassOptions(phase2=False))
        whole, spent = time.perf_counter() - began, time.process_time() - spent
    tell(
        succeeded=counts.phase1.succeeded,
        seconds=counts.phase1.seconds,
        whole_seconds=whole,
        processor_seconds=spent,
        first_seconds=first,
        peak_bytes=peak_memory_bytes(),
    )


class Serving:
    """A model server in a process of its own, so that its work is not counted as ours."""

    def __init__(self, delay: float) -> None:
        self._command = [sys.executable, __file__, "--serve", str(delay)]

    def __enter__(self) -> str:
        self._server = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        return f"http://127.0.0.1:{int(self._server.stdout.readline())}/v1"

    def __exit__(self, *_: object) -> None:
        self._server.terminate()
        self._server.communicate()


async def serve(delay: float) -> None:
    """Answer every request in the same way, after so many seconds; print the port first."""
    item = {"type": "output_text", "text": json.dumps(ANSWER), "annotations": []}
    message = {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": [item]}
    usage = {
        "input_tokens": 9000,
        "output_tokens": 90,
        "total_tokens": 9090,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    body = json.dumps(
        {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": "m",
            "output": [message],
            "usage": usage,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = next(int(row[15:]) for row in asked.split(b"\r\n") if row.startswith(b"content-length:"))
                await reader.readexactly(length)
                await asyncio.sleep(delay)
                writer.write(head + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def measure_index(folder: Path, options: argparse.Namespace) -> Figures:
    """Measure the first index of many rollouts, and whether each gets its turn in the end.

    A turn is a claim that is completed with nothing to keep; with ``--full`` each rollout is really extracted.
    """
    home = folder / "home"
    size = write_rollouts(home, options.files, (20_000, 70_000))
    config = write_config(folder, home, idle_seconds=0)
    told = in_a_process("--index", str(config), "full" if options.full else "")
    return {"files": options.files, "bytes": size, **told}


def index_and_tell(config_path: str, full: str) -> None:
    """Index in this process, then let every thread have its turn, and print how it went."""
    from memory_pipeline.app import App
    from memory_pipeline.clock import SystemClock
    from memory_pipeline.config import load_config
    from memory_pipeline.phase1.gates import apply_gates
    from memory_pipeline.phase1.index import index_rollouts
    from memory_pipeline.pipeline import PassOptions

    config = load_config(config_path)
    with App(config) as app:
        began, spent = time.perf_counter(), processor_seconds()
        discovery = index_rollouts(config, app.store, SystemClock())
        seconds, spent = time.perf_counter() - began, processor_seconds() - spent
        peak = peak_memory_bytes()
        began = time.perf_counter()
        if full:
            counts = app.run_once(PassOptions(phase2=False)).phase1
            had_a_turn = counts.succeeded + counts.no_output
        else:
            apply_gates(config, app.store, SystemClock(), force=False)
            had_a_turn = settle(app.store)
        rest = time.perf_counter() - began
    tell(
        indexed=discovery.threads,
        seconds=round(seconds, 2),
        processor_seconds=round(spent, 2),
        peak_mb=round(peak / 1e6, 1),
        had_a_turn=had_a_turn,
        turns_seconds=round(rest, 1),
    )


def processor_seconds() -> float:
    """Give the processor's time of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def measure_idle(folder: Path, options: argparse.Namespace) -> Figures:
    """Measure a pass with nothing to do over many indexed threads, against listing the tree and asking for status.

    A tenth of them was extracted, or all with ``--full``; a gate holds the others back.
    """
    home = folder / "home"
    write_rollouts(home, options.threads, (0, 0))
    most = options.threads if options.full else options.threads // 10
    config = write_config(folder, home, idle_seconds=0)
    gated = folder / "gated"
    gated.mkdir()
    closed = write_config(gated, home, idle_seconds=0, sources=["headless"])
    closed.write_text(closed.read_text(encoding="utf-8").replace(str(gated), str(folder)), encoding="utf-8")
    passes = config if options.full else closed
    told = in_a_process("--idle", str(config), str(passes), str(home), str(most), str(options.runs))
    return {"threads": options.threads, **told}


def idle_and_tell(config_path: str, passes_path: str, home: str, most: str, runs: str) -> None:
    """Index in this process, then look again and again, and print medians of the processor's time."""
    from memory_pipeline.app import App
    from memory_pipeline.clock import SystemClock
    from memory_pipeline.config import load_config
    from memory_pipeline.phase1.gates import apply_gates
    from memory_pipeline.phase1.index import index_rollouts
    from memory_pipeline.pipeline import PassOptions

    config = load_config(config_path)
    with App(config) as app:
        index_rollouts(config, app.store, SystemClock())
        apply_gates(config, app.store, SystemClock(), force=False)
        extracted = settle(app.store, most=int(most))
    config = load_config(passes_path)
    with App(config) as app:
        for _ in range(2):
            app.run_once(PassOptions())
            time.sleep(3)  # what changed within two seconds is not taken for settled
        app.run_once(PassOptions())
        works = (
            lambda: list_and_stat(home),
            lambda: index_rollouts(config, app.store, SystemClock()),
            lambda: app.run_once(PassOptions()),
        )
        taken = [[seconds_of(work) for work in works] for _ in range(2 * int(runs) + 1)]
        counts = app.run_once(PassOptions())
    plain, indexing, whole = (statistics.median(column) for column in zip(*taken, strict=True))
    tell(
        extracted=extracted,
        outcome=counts.phase2.outcome.value,
        listing_ms=round(plain * 1000, 1),
        index_ms=round(indexing * 1000, 1),
        pass_ms=round(whole * 1000, 1),
        index_ratio=round(indexing / plain, 2),
        pass_ratio=round(whole / plain, 2),
    )


def settle(store: Any, *, most: int = sys.maxsize) -> int:
    """Let as many threads as can be claimed have had their extraction, an empty one; returns how many."""
    from memory_pipeline.records import ClaimOutcome, Coverage, Extraction

    for done in range(most):
        claim = store.jobs.claim(owner="benchmark", now=time.time(), lease_seconds=600.0, max_attempts=3, provider=None)
        if claim.outcome is not ClaimOutcome.CLAIMED:
            return done
        nothing = Extraction(
            thread_id=claim.lease.thread.thread_id,
            rollout_summary="",
            slug="",
            raw_memory="",
            tasks=(),
            coverage=Coverage.HIGH,
        )
        store.jobs.complete(claim.lease, nothing, now=time.time(), provider=None)
    return most


def measure_claim(folder: Path, options: argparse.Namespace) -> Figures:
    """Measure one claim among many threads that wait."""
    home = folder / "home"
    write_rollouts(home, options.threads, (0, 0))
    config = write_config(folder, home, idle_seconds=0)
    return {"threads": options.threads, **in_a_process("--claim", str(config))}


def claim_and_tell(config_path: str) -> None:
    """Index in this process, then claim up to a thousand threads one by one, and print the time of each."""
    from memory_pipeline.app import App
    from memory_pipeline.clock import SystemClock
    from memory_pipeline.config import load_config
    from memory_pipeline.phase1.gates import apply_gates
    from memory_pipeline.phase1.index import index_rollouts

    config = load_config(config_path)
    with App(config) as app:
        index_rollouts(config, app.store, SystemClock())
        apply_gates(config, app.store, SystemClock(), force=False)
        taken, spent = [], time.process_time()
        for _ in range(min(1000, app.store.jobs.count_due(now=time.time()))):
            began = time.perf_counter()
            claim = app.store.jobs.claim(
                owner="benchmark", now=time.time(), lease_seconds=600.0, max_attempts=3, provider=None
            )
            taken.append(time.perf_counter() - began)
            assert claim.lease is not None
        spent = time.process_time() - spent
    taken.sort()
    tell(
        median_ms=round(statistics.median(taken) * 1000, 3),
        processor_ms=round(spent / len(taken) * 1000, 3),
        worst_ms=round(taken[-1] * 1000, 2),
    )


def in_a_process(*arguments: str) -> Figures:
    """Run a part of this script in a process of its own and return what it tells."""
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    told: Figures = json.loads(done.stdout.splitlines()[-1])
    return told


def tell(**figures: Any) -> None:
    """Print figures for the process that asked."""
    print(json.dumps(figures))


def measure_consolidation(folder: Path, options: argparse.Namespace) -> Figures:
    """Phase two around few and many memories: with nothing new, and with something."""
    started = statistics.median(command_seconds("--version") for _ in range(2 * options.runs + 1))
    figures: Figures = {"start_seconds": round(started, 3)}
    for count in options.memories:
        place = folder / str(count)
        place.mkdir()
        home = place / "home"
        sessions = -(-count // RULES_A_SESSION)
        for number in range(sessions):
            write_rules(home, number)
        config = write_config(place, home, sources=["interactive"])
        began = time.perf_counter()
        while in_a_process("--pass", str(config))["outcome"] == "consolidated":
            pass  # each places what fits one selection
        first = time.perf_counter() - began
        time.sleep(3)  # what changed within two seconds is not taken for settled
        command_seconds("--config", str(config), "run", "--phase2")
        idle = statistics.median(
            command_seconds("--config", str(config), "run", "--phase2") for _ in range(2 * options.runs + 1)
        )
        changed = {}
        for more in (1, 4, 16):
            for number in range(sessions, sessions + more):
                write_rules(home, number)
            sessions += more
            told = in_a_process("--pass", str(config))
            changed[str(more * RULES_A_SESSION)] = told["phase2_seconds"]
        figures[str(count)] = {
            "first_passes_seconds": round(first, 2),
            "no_change_over_start_seconds": round(idle - started, 3),
            "seconds_by_new_memories": changed,
            "backup_seconds": told["backup_seconds"],
        }
    return figures


RULES_A_SESSION = 16
SUBJECTS = ("parser", "cart", "ledger", "mailer", "router", "cache", "worker", "index", "search", "login")
PLACES = ("src", "lib", "tools", "scripts", "services", "packages", "apps", "docs")


def write_rules(home: Path, number: int) -> None:
    """Write a session in which a person states rules, none of which is like another."""
    began = FIRST_DAY + timedelta(minutes=4 * number)
    stamp = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    rng = random.Random(number)
    lines = list(rollout_lines(number, 4000, rng))
    for rule in range(RULES_A_SESSION):
        mark = f"{number * RULES_A_SESSION + rule:05x}"
        name = f"{rng.choice(SUBJECTS)}-{mark}"
        wish = f"Always run `make check-{name}` before you change {rng.choice(PLACES)}/{name}.py."
        content = [{"type": "input_text", "text": wish}]
        lines.insert(
            -1,
            {
                "timestamp": stamp,
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": content},
            },
        )
    folder = home / "sessions" / began.strftime("%Y/%m/%d")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-{began.strftime('%Y-%m-%dT%H-%M-%S')}-{THREAD.format(number)}.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    then = time.time() - 7200
    os.utime(path, (then, then))


def pass_and_tell(config_path: str) -> None:
    """Run a whole pass in this process, and print what its second phase and the backup after it took."""
    from memory_pipeline.app import App
    from memory_pipeline.clock import SystemClock
    from memory_pipeline.config import load_config
    from memory_pipeline.phase2.run import Phase2
    from memory_pipeline.pipeline import PassOptions
    from memory_pipeline.safekeeping.backup import back_up_if_due

    config = load_config(config_path)
    clock = SystemClock()
    with App(config) as app:
        app.run_once(PassOptions(phase2=False))
        phase2 = Phase2(config, app.store, clock, owner="benchmark", jitter=lambda: 0.0, should_stop=lambda: False)
        began = time.process_time()
        counts = phase2.run_once()
        consolidated = time.process_time()
        back_up_if_due(config, app.store, clock)
        backed_up = time.process_time()
        stored = app.store.memories.count()
    tell(
        outcome=counts.outcome.value,
        phase2_seconds=round(consolidated - began, 3),
        backup_seconds=round(backed_up - consolidated, 3),
        memories=stored,
    )


def command_seconds(*arguments: str) -> float:
    """Give the processor's time of one start of the command."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "memory_pipeline", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


PARTS: dict[str, Callable[[Path, argparse.Namespace], Figures]] = {
    "extract": measure_extraction,
    "index": measure_index,
    "idle": measure_idle,
    "claim": measure_claim,
    "consolidate": measure_consolidation,
}
CHILDREN: dict[str, Callable[..., None]] = {
    "--extract": extract_and_tell,
    "--serve": lambda delay: asyncio.run(serve(float(delay))),
    "--index": index_and_tell,
    "--idle": idle_and_tell,
    "--claim": claim_and_tell,
    "--pass": pass_and_tell,
}


def main(arguments: list[str]) -> None:
    """Measure what was asked for, and print it as JSON."""
    if arguments and arguments[0] in CHILDREN:
        CHILDREN[arguments[0]](*arguments[1:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=3, help="how often each thing is measured")
    parser.add_argument("--rollouts", type=int, default=120, help="rollouts that are extracted")
    parser.add_argument("--files", type=int, default=20_000, help="rollouts of the first index")
    parser.add_argument("--threads", type=int, default=100_000, help="threads that are claimed, or looked at again")
    parser.add_argument("--full", action="store_true", help="also what takes more than two minutes")
    parser.add_argument("--memories", type=int, nargs="+", default=[256, 5000], help="memories that phase two holds")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here too")
    options = parser.parse_args(arguments)
    figures: Figures = {"machine": machine()}
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as name:
            figures[part] = PARTS[part](Path(name), options) | {"load_average": round(os.getloadavg()[0], 1)}
        print(json.dumps({part: figures[part]}, indent=2), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def machine() -> str:
    """Describe the machine in a line."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main(sys.argv[1:])
