"""The command that gives a new task what is remembered. An agent's session waits for it, and starts whatever happens.

It loads only what it needs: see benchmarks/start.py.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.place import EXIT_DONE, AtOnce, Place
from memory_pipeline.cli.within import within
from memory_pipeline.errors import MemoryPipelineError, StoreError, UsageError

if TYPE_CHECKING:
    from memory_pipeline.config import Config
    from memory_pipeline.recall.context import Asked, Context
    from memory_pipeline.store.glance import Glance

#: A hook of Claude Code is cut off after the two seconds that we have written beside it; starting takes its part.
_ANSWER_SECONDS = 1.4
#: With what is written into the log file it takes so many at most.
_WHOLE_SECONDS = 1.8
_INPUT_SECONDS = 0.3
#: Of an answer of more than 10,000 Claude Code shows the model a small part. In units of UTF-16, the line end left out.
_MOST_HOOK_CHARS = 9_998
_MOST_INPUT_BYTES = 1 << 20
#: More than any model takes.
_MOST_BUDGET_TOKENS = 10_000_000
_HOOK_EVENT = "SessionStart"


class _Quiet(click.Command):
    """A command whose wrong use, too, ends with 0, so that a line in somebody's settings can't get in the way."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--strict" in args:
            return super().parse_args(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            click.echo(f"memory-pipeline: {error.format_message()}; nothing is given", err=True)
            ctx.exit(EXIT_DONE)


@click.command(cls=_Quiet)
@click.option("--cwd", metavar="PATH", help="The folder of the task; by default the one of the hook, or this one.")
@click.option("--task", default="", metavar="TEXT", help="What is to be done: what matches it comes first.")
@click.option("--thread", metavar="ID", help="The session that asks. It is given something once.")
@click.option(
    "--budget-tokens", type=click.IntRange(min=1), metavar="N", help="At most so many tokens, estimated; default 1500."
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "claude-hook"]),
    default="text",
    show_default=True,
    help="claude-hook reads what Claude Code's SessionStart hook is given, and answers it.",
)
@click.option("--strict", is_flag=True, help="Fail, and say why, instead of giving nothing.")
@click.pass_obj
def context(
    place: Place,
    *,
    cwd: str | None,
    task: str,
    thread: str | None,
    budget_tokens: int | None,
    output_format: str,
    strict: bool,
) -> int:
    """Give a new task what is remembered of you and of its project, the most useful first.

    Whatever fails, it prints nothing, ends with 0, and the log file says why, unless --strict is given.
    """
    began = time.monotonic()
    faults: list[Exception] = []

    def answer(is_too_late: Callable[[], bool]) -> bytes:
        asked = _asked(cwd, task, thread, budget_tokens, output_format)
        found = _give(place, asked, is_too_late, faults.append)
        return b"" if found is None else _written(found, output_format)

    try:
        text = within(_ANSWER_SECONDS, answer)
        if faults and strict:
            raise faults[0]
    except Exception as error:
        if strict:
            raise
        faults.append(error)
        text = b""
    if text:
        _print_whole(text, strict=strict)
    if faults:
        _log(place, faults[-1], seconds=began + _WHOLE_SECONDS - time.monotonic())
    return AtOnce(EXIT_DONE)


def _print_whole(text: bytes, *, strict: bool) -> None:
    try:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    except OSError:
        if strict:
            raise


def _asked(cwd: str | None, task: str, thread: str | None, budget_tokens: int | None, output_format: str) -> Asked:
    """Put together who asks; what the command line says goes before what the hook is told."""
    from memory_pipeline.recall.context import DEFAULT_BUDGET_TOKENS, Asked, Occasion, check_thread_id

    told = _told_by_hook(must_wait=cwd is None) if output_format == "claude-hook" else {}
    thread_id = thread or _text_of(told, "session_id")
    if thread_id is not None:
        check_thread_id(thread_id)
    if cwd and not os.path.isabs(cwd) and os.path.exists(cwd):  # noqa: PTH110, PTH117 - as a text; a path may raise
        cwd = os.path.join(os.getcwd(), cwd)  # noqa: PTH109, PTH118 - `..` stays: behind a link it leads elsewhere
    return Asked(
        cwd=cwd or _text_of(told, "cwd") or os.getcwd(),  # noqa: PTH109 - as text, as a log has it
        task=task,
        thread_id=thread_id,
        occasion=Occasion.of(_text_of(told, "source") or ""),
        budget_tokens=DEFAULT_BUDGET_TOKENS if budget_tokens is None else min(budget_tokens, _MOST_BUDGET_TOKENS),
        output_format=output_format,
    )


def _told_by_hook(*, must_wait: bool) -> Mapping[str, Any]:
    """Read what the hook is told on standard input; nothing where a person sits there.

    Unless it ``must_wait`` for it, input that does not begin in a moment is none: it may be a pipe that nobody uses.

    Raises:
        UsageError: it is no JSON object, or another hook's.
    """
    import json
    import select

    if sys.stdin is None or sys.stdin.isatty():
        return {}
    if not must_wait and not select.select([sys.stdin], [], [], _INPUT_SECONDS)[0]:
        return {}
    written = sys.stdin.buffer.read(_MOST_INPUT_BYTES + 1)
    if not written.strip():
        return {}
    try:
        told = json.loads(written[:_MOST_INPUT_BYTES])
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise UsageError("standard input is no JSON object, as a hook of Claude Code is given one")
    if told.get("hook_event_name", _HOOK_EVENT) != _HOOK_EVENT:
        raise UsageError(f"this answers the hook {_HOOK_EVENT} alone")
    return told


def _text_of(told: Mapping[str, Any], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) and value else None


def _give(
    place: Place, asked: Asked, is_too_late: Callable[[], bool], on_unrecorded: Callable[[Exception], None]
) -> Context | None:
    from memory_pipeline.clock import SystemClock
    from memory_pipeline.recall.context import give_context
    from memory_pipeline.store.glance import Glance

    config = place.load()
    glance = Glance(config.database_path)
    try:
        _check_forgotten(config, glance)
        return give_context(
            glance,
            asked,
            may_use=lambda scope: _may_use(config, glance, scope, asked.thread_id),
            now=SystemClock().now(),
            command=place.command,
            fits=_fits_hook if asked.output_format == "claude-hook" else lambda _text: True,
            is_too_late=is_too_late,
            on_unrecorded=on_unrecorded,
        )
    finally:
        glance.close()


def _check_forgotten(config: Config, glance: Glance) -> None:
    """Refuse a database that may still tell what was forgotten: the next command that may write takes it out.

    Raises:
        StoreError: a forgetting was cut off, is going on, or an older database was put back.
    """
    if not os.path.exists(config.tombstones_path):  # noqa: PTH110
        return
    from memory_pipeline.tombstones import TombstoneFolder

    if glance.tombstones_met() != TombstoneFolder(config.tombstones_path).digest():
        raise StoreError("what was forgotten is not taken out of the database yet; any other command does that")


def _may_use(config: Config, glance: Glance, scope: str | None, thread_id: str | None) -> bool:
    """Whether memories may be given there. What was set beside the configuration is loaded only where there is some."""
    if glance.has_settings() or os.path.exists(config.tombstones_path):  # noqa: PTH110
        from memory_pipeline.settings import in_force_of

        return in_force_of(config, glance.settings()).may_use(scope=scope, thread_id=thread_id)
    return config.settings.use_memories


def _fits_hook(text: str) -> bool:
    return len(_hook_answer(text).encode("utf-16-le")) // 2 <= _MOST_HOOK_CHARS


def _written(found: Context, output_format: str) -> bytes:
    """Return the whole answer, so that it is written at one go or not at all."""
    if output_format == "claude-hook":
        text = _hook_answer(found.text)
    elif output_format == "json":
        text = _json_answer(found)
    else:
        text = found.text
    return f"{text}\n".encode("utf-8", "replace")


def _hook_answer(text: str) -> str:
    import json

    output = {"hookEventName": _HOOK_EVENT, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False)


def _json_answer(found: Context) -> str:
    import json

    from memory_pipeline.clock import iso

    memories = [
        {
            "memory_id": told.memory_id,
            "scope": told.scope,
            "kind": told.kind,
            "statement": told.statement,
            "condition": told.condition,
            "pinned": told.pinned,
            "last_confirmed": iso(told.last_confirmed),
        }
        for told in found.told
    ]
    document = {
        "context": found.text,
        "tokens": found.tokens,
        "scope": found.scope,
        "memories": memories,
        "not_shown": dict(found.not_shown),
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def _log(place: Place, fault: Exception, *, seconds: float) -> None:
    """Write down why nothing was given, or not recorded, where that can be written in a moment."""

    def write(_is_too_late: Callable[[], bool]) -> None:
        import logging

        from memory_pipeline.logfile import logging_to_file

        with logging_to_file(_config_to_log_by(place), run_id=f"context-{os.getpid()}") as tell:
            tell(level=logging.WARNING, action="context", outcome="failed", fault=_fault_name(fault))

    with suppress(Exception):
        within(max(seconds, 0.0), write)


def _config_to_log_by(place: Place) -> Config:
    """Return the configuration, or, where it is what can't be used, the state folder alone that it would have had."""
    from memory_pipeline.config import STATE_DIR_ENV, Config, default_state_dir

    try:
        return place.load()
    except MemoryPipelineError:
        named = place.state_dir or os.environ.get(STATE_DIR_ENV)
        return Config(state_dir=named or str(default_state_dir()))


def _fault_name(fault: Exception) -> str:
    state = getattr(fault, "state", None)
    return f"{type(fault).__name__}: {state}" if state else type(fault).__name__
