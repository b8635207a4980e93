"""The commands. Each loads what it needs itself, so that the light ones start quickly."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline import __version__
from memory_pipeline.config import Config, as_table, load_config, user_config_path
from memory_pipeline.errors import UsageError
from memory_pipeline.records import Gate, JobState

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.records import IndexedThread, Memory, RunCounts

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_LOCKED = 75

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Which configuration and state the command line names."""

    config_path: str | None
    state_dir: str | None

    def load(self) -> Config:
        """Read the configuration."""
        return load_config(self.config_path, self.state_dir)

    def command(self, words: str) -> str:
        """Return how to call a command for this same place, to show to the person."""
        parts = [_program()]
        if self.config_path:
            parts += ["--config", shlex.quote(self.config_path)]
        if self.state_dir:
            parts += ["--state-dir", shlex.quote(self.state_dir)]
        return " ".join([*parts, words])


def _program() -> str:
    """Return how this program was called, so that what we print can be typed as it stands."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m memory_pipeline"
    found = shutil.which("memory-pipeline")
    is_on_path = found is not None and called.exists() and Path(found).samefile(called)
    return "memory-pipeline" if is_on_path or not called.exists() else shlex.quote(str(called.absolute()))


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run to a command."""
    for option in (
        JSON_OPTION,
        click.option("--wait", is_flag=True, help="Wait for another run to release the workspace."),
        click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Extract at most N sessions."),
        click.option("--force", is_flag=True, help="Also extract sessions that are too recent or too short."),
        click.option("--phase2", is_flag=True, help="Consolidate only."),
        click.option("--phase1", is_flag=True, help="Extract only."),
    ):
        command = option(command)
    return command


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return EXIT_DONE  # whoever read our output has seen enough; click would call that a failure


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", "config_path", metavar="PATH", help="The configuration file (or MEMORY_PIPELINE_CONFIG).")
@click.option("--state-dir", metavar="PATH", help="The state folder (or MEMORY_PIPELINE_STATE_DIR).")
@click.version_option(__version__, prog_name="memory-pipeline")
@run_options
@click.pass_context
def cli(ctx: click.Context, /, config_path: str | None, state_dir: str | None, **options: Any) -> int | None:
    """Turn the session logs of coding agents into long-term memory.

    With --phase1 or --phase2 and no command, run that phase once.
    """
    ctx.obj = Place(config_path=config_path, state_dir=state_dir)
    asked_for_run = options["phase1"] or options["phase2"]
    if ctx.invoked_subcommand is not None:
        given = [name for name, value in options.items() if value not in (False, None)]
        if given:
            named = "--json" if given[0] == "as_json" else f"--{given[0]}"
            raise click.UsageError(
                f"{named} goes after the command: memory-pipeline {ctx.invoked_subcommand} {named}", ctx
            )
        return None
    if asked_for_run:
        return _run(ctx.obj, samples="never", **options)
    if any(value not in (False, None) for value in options.values()):
        raise click.UsageError("name a command, or --phase1 or --phase2", ctx)
    click.echo(ctx.get_help())
    return 2


@cli.command("run")
@run_options
@click.option(
    "--samples",
    type=click.Choice(["never", "if-empty"]),
    default="never",
    show_default=True,
    help="Use the bundled sample sessions when no session log of yours is found.",
)
@click.pass_obj
def run_command(place: Place, /, **options: Any) -> int:
    """Run both phases once: extract new sessions, then consolidate.

    Exit codes: 0 done, 1 a session or phase failed, 75 another run holds the workspace, 130 interrupted.
    """
    return _run(place, **options)


@cli.command()
@click.pass_obj
def daemon(place: Place) -> int:
    """Run a pass now and then by daemon.schedule, until a signal asks to stop."""
    from memory_pipeline.cli.logs import log_to_stderr
    from memory_pipeline.daemon import check_schedule, run_daemon

    log_to_stderr(logging.INFO)
    config = place.load()
    check_schedule(config.daemon.schedule)
    with _stoppable() as stop, _open(config, stop) as app:

        def run_pass() -> None:
            from memory_pipeline.pipeline import PassOptions

            counts = app.run_once(PassOptions())
            _log_pass(counts)

        run_daemon(config.daemon.schedule, run_pass, stop)
    return EXIT_DONE


@cli.command()
@click.option("--force", is_flag=True, help="Pass over too_recent and too_short, as `run --force` does.")
@JSON_OPTION
@click.pass_obj
def scan(place: Place, *, force: bool, as_json: bool) -> int:
    """Index what is on disk and say what a run would extract, without extracting."""
    from memory_pipeline.cli import output

    with _stoppable() as stop, _open(place.load(), stop) as app, output.progress_bars(quiet=as_json) as (on_index, _):
        discovery = app.scan(force=force, on_index=on_index)
        due = app.store.jobs.count_due(now=app.clock.now())
        skipped = app.store.threads.gate_counts()
    if as_json:
        output.print_json(
            {
                "discovered": discovery.threads,
                "opened": discovery.opened,
                "moved": discovery.moved,
                "vanished": discovery.vanished,
                "unreadable": discovery.unreadable,
                "eligible": due,
                "skipped": skipped,
            }
        )
        return EXIT_DONE
    for problem in discovery.problems:
        output.say(problem)
    click.echo(f"{discovery.threads} sessions on disk; {discovery.opened} new or changed, {due} due for extraction.")
    if skipped:
        click.echo(f"Held back: {output.counted(skipped)}.")
    return EXIT_DONE


@cli.command()
@JSON_OPTION
@click.pass_obj
def status(place: Place, *, as_json: bool) -> int:
    """Show at a glance what is stored, what waits and why, and what failed."""
    from memory_pipeline.cli import output, status_view

    config = place.load()
    with _open(config) as app:
        document = status_view.status_document(config, app.store, now=app.clock.now())
    if as_json:
        output.print_json(document)
    else:
        status_view.print_status(document, place.command)
    return EXIT_DONE


@cli.group()
def threads() -> None:
    """Look at the indexed sessions, and steer single ones."""


@threads.command("list")
@click.option("--state", type=click.Choice([state.value for state in JobState]), help="Only threads in this state.")
@click.option(
    "--gate", type=click.Choice([gate.value for gate in Gate]), help="Only threads that this gate holds back."
)
@JSON_OPTION
@click.pass_obj
def threads_list(place: Place, *, state: str | None, gate: str | None, as_json: bool) -> int:
    """List the sessions, newest first; of one that is held back, the gate stands for the state."""
    from memory_pipeline.cli import output
    from memory_pipeline.records import JobState

    with _open(place.load()) as app:
        found = [
            thread
            for thread in app.store.threads.every()
            if (state is None or thread.state == state) and (gate is None or thread.gate == gate)
        ]
    if as_json:
        output.print_json([output.thread_document(thread) for thread in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No sessions. `{place.command('scan')}` looks for them.")
        return EXIT_DONE
    rows = [
        (
            thread.thread_id,
            thread.agent.value,
            # A gate says more than "gated"; one column for both leaves room for the title.
            thread.gate.value if thread.gate and thread.state is JobState.GATED else thread.state.value,
            output.short_time(thread.updated_at)[:10],
            thread.title or "",
        )
        for thread in found
    ]
    output.print_table(("thread", "agent", "state", "updated", "title"), rows, flexible="title")
    return EXIT_DONE


@threads.command("show")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_show(place: Place, *, thread: str, as_json: bool) -> int:
    """Show one session: its state, its raw memory, and the evidence of every entry. THREAD may be shortened."""
    from memory_pipeline.cli import output

    with _open(place.load()) as app:
        found = _find_thread(app, thread)
        extraction = app.store.extractions.get(found.thread_id)
        usage = app.store.extractions.usage("thread", found.thread_id)
    document = output.thread_details(found, extraction, usage)
    if as_json:
        output.print_json(document)
    else:
        output.print_thread(document, found)
    return EXIT_DONE


@threads.command("retry")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_retry(place: Place, *, thread: str, as_json: bool) -> int:
    """Give a session another go, with all its tries, in the next run."""
    from memory_pipeline.cli import output

    with _open(place.load()) as app:
        found = _find_thread(app, thread)
        if not app.store.jobs.retry(found.thread_id):
            reason = f"held back by {found.gate}" if found.gate else "being extracted right now"
            raise UsageError(f"thread {found.thread_id} is {reason}, so there is nothing to retry")
        app.store.jobs.end_rest(app.config.model.provider)
        after = _find_thread(app, found.thread_id)
    name = output.printable(after.thread_id)
    if as_json:
        output.print_json(output.thread_document(after))
    elif after.gate:
        click.echo(f"Thread {name} has all its tries again; the gate {after.gate} still holds it back.")
    else:
        click.echo(f"Thread {name} is {after.state}; `{place.command('run')}` extracts it.")
    return EXIT_DONE


@threads.command("disable")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_disable(place: Place, *, thread: str, as_json: bool) -> int:
    """Keep a session out: it is not extracted, and what it said is withdrawn by the next run."""
    return _switch_thread(place, thread, disabled=True, as_json=as_json)


@threads.command("enable")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_enable(place: Place, *, thread: str, as_json: bool) -> int:
    """Let a disabled session count again."""
    return _switch_thread(place, thread, disabled=False, as_json=as_json)


@cli.group()
def memory() -> None:
    """Look at the consolidated memories."""


@memory.command("list")
@click.option("--scope", help="Only this scope: user, or project:KEY.")
@click.option("--status", "wanted", type=click.Choice(["active", "superseded", "retired"]), help="Only this status.")
@JSON_OPTION
@click.pass_obj
def memory_list(place: Place, *, scope: str | None, wanted: str | None, as_json: bool) -> int:
    """List the memories by scope, those superseded or retired included."""
    from memory_pipeline.cli import output

    with _open(place.load()) as app:
        found = [
            item
            for item in app.store.memories.every()
            if (scope is None or item.scope == scope) and (wanted is None or item.status == wanted)
        ]
    if as_json:
        output.print_json([output.memory_document(item) for item in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No memories. `{place.command('run')}` makes them from your session logs.")
        return EXIT_DONE
    rows = [
        (
            item.memory_id,
            item.scope.removeprefix("project:"),
            item.kind.value,
            item.status.value,
            output.short_time(item.last_confirmed)[:10],
            f"{item.condition}: {item.statement}" if item.condition else item.statement,
        )
        for item in found
    ]
    output.print_table(("memory", "scope", "kind", "status", "said", "statement"), rows, flexible="statement")
    return EXIT_DONE


@memory.command("show")
@click.argument("memory_id", metavar="ID")
@JSON_OPTION
@click.pass_obj
def memory_show(place: Place, *, memory_id: str, as_json: bool) -> int:
    """Show one memory and what it rests on. ID may be shortened."""
    from memory_pipeline.cli import output

    with _open(place.load()) as app:
        found = _find_memory(app, memory_id)
        entries = app.store.extractions.standing_entries(found.entry_ids)
        operations = app.store.memories.operations_of(found.memory_id)
    if as_json:
        output.print_json(output.memory_document(found))
    else:
        output.print_memory(found, [entries[key] for key in found.entry_ids if key in entries], operations)
    return EXIT_DONE


@cli.group("config")
def config_group() -> None:
    """Look at the configuration."""


@config_group.command("show")
@JSON_OPTION
@click.pass_obj
def config_show(place: Place, *, as_json: bool) -> int:
    """Show every setting as it is in force, paths resolved."""
    from memory_pipeline.cli import output

    config = place.load()
    if as_json:
        output.print_json(as_table(config))
    else:
        click.echo(f"# from {config.path or 'the built-in defaults'}")
        output.print_toml(as_table(config))
    return EXIT_DONE


@config_group.command("path")
@JSON_OPTION
@click.pass_obj
def config_path_command(place: Place, *, as_json: bool) -> int:
    """Show which file the configuration comes from."""
    from memory_pipeline.cli import output

    path = place.load().path
    if as_json:
        output.print_json({"path": path, "user_path": str(user_config_path())})
    elif path:
        click.echo(path)
    else:
        output.say(f"no configuration file: the built-in defaults hold; {user_config_path()} would be read")
    return EXIT_DONE


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for a shell, to be sourced from its start-up file."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise UsageError(f"there is no completion for {shell}")
    click.echo(completion_class(cli, {}, "memory-pipeline", "_MEMORY_PIPELINE_COMPLETE").source())
    return EXIT_DONE


def _run(
    place: Place,
    *,
    phase1: bool,
    phase2: bool,
    force: bool,
    limit: int | None,
    wait: bool,
    as_json: bool,
    samples: str,
) -> int:
    from memory_pipeline.cli import output
    from memory_pipeline.cli.logs import log_to_stderr
    from memory_pipeline.pipeline import PassOptions

    log_to_stderr(logging.WARNING)
    both = phase1 == phase2
    options = PassOptions(phase1=phase1 or both, phase2=phase2 or both, force=force, limit=limit, wait=wait)
    config = place.load()
    if samples == "if-empty":
        place, config = _samples_if_empty(place, config)
    with (
        _stoppable() as stop,
        _open(config, stop) as app,
        output.progress_bars(quiet=as_json) as (on_index, on_extract),
    ):
        counts = app.run_once(options, on_index=on_index, on_extract=on_extract)
    for problem in (*counts.phase1.problems, *counts.phase2.problems):
        output.say(problem)
    with suppress(BrokenPipeError):  # whoever reads has seen enough; what happened still decides the exit code
        if as_json:
            output.print_json(output.run_document(counts))
        else:
            output.print_run(counts, options, config, place.command)
    return _exit_code(counts)


def _samples_if_empty(place: Place, config: Config) -> tuple[Place, Config]:
    """Turn to the bundled samples when there is no session log of the person's own."""
    from memory_pipeline.cli import output
    from memory_pipeline.records import Agent
    from memory_pipeline.resources import bundled_path
    from memory_pipeline.rollouts.discover import find_rollouts

    for agent in (Agent.CODEX, Agent.CLAUDE):
        source = config.sources.of(agent)
        if source.enabled and next(iter(find_rollouts(agent, source.home)), None) is not None:
            return place, config
    output.say("No session logs of Codex or Claude Code were found: showing the bundled sample sessions instead.")
    samples_config = str(bundled_path("samples") / "config.toml")
    # Beside the person's own state, never inside an installed package.
    state_dir = str(config.state_path / "samples")
    samples_place = Place(config_path=samples_config, state_dir=None)
    if samples_place.load().state_dir != state_dir:
        samples_place = Place(config_path=samples_config, state_dir=state_dir)
    return samples_place, samples_place.load()


def _exit_code(counts: RunCounts) -> int:
    from memory_pipeline.records import Phase2Outcome

    if counts.phase1.failed or counts.phase2.outcome is Phase2Outcome.FAILED:
        return EXIT_FAILED
    return EXIT_LOCKED if counts.phase2.outcome is Phase2Outcome.LOCKED else EXIT_DONE


def _log_pass(counts: RunCounts) -> None:
    logger = logging.getLogger("memory_pipeline.daemon")
    phase1, phase2 = counts.phase1, counts.phase2
    outcome = (
        f"{phase1.succeeded} succeeded, {phase1.no_output} no_output, {phase1.failed} failed, phase2 {phase2.outcome}"
    )
    seconds = round(phase1.seconds + phase2.seconds, 3)
    logger.info("pass done", extra={"action": "pass", "outcome": outcome, "seconds": seconds})
    for problem in (*phase1.problems, *phase2.problems):
        logger.warning("%s", problem, extra={"action": "pass"})


@contextmanager
def _open(config: Config, stop: threading.Event | None = None) -> Iterator[App]:
    from memory_pipeline.app import App

    with App(config, stop=stop) as app:
        yield app


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """Turn SIGINT and SIGTERM into an event that work looks at; a second signal ends the program at once."""
    stop = threading.Event()

    def ask_to_stop(number: int, _frame: object) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _switch_thread(place: Place, thread: str, *, disabled: bool, as_json: bool) -> int:
    from memory_pipeline.cli import output

    with _open(place.load()) as app:
        found = _find_thread(app, thread)
        app.store.threads.set_disabled(found.thread_id, disabled=disabled)
        app.regate()
        after = _find_thread(app, found.thread_id)
    name = output.printable(after.thread_id)
    if as_json:
        output.print_json(output.thread_document(after))
    elif disabled:
        click.echo(f"Thread {name} is disabled; the next `{place.command('run')}` drops what only it said.")
    else:
        click.echo(f"Thread {name} is enabled and {after.state}.")
    return EXIT_DONE


def _find_thread(app: App, name: str) -> IndexedThread:
    exact = app.store.threads.get(name)
    if exact is not None:
        return exact
    found = app.store.threads.find_by_prefix(name, limit=2) if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name} is the beginning of several thread ids; give more of it")
    raise UsageError(f"there is no thread {name}; `memory-pipeline threads list` shows all")


def _find_memory(app: App, name: str) -> Memory:
    exact = app.store.memories.get(name)
    if exact is not None:
        return exact
    found = app.store.memories.find_by_prefix(name, limit=2) if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name} is the beginning of several memory ids; give more of it")
    raise UsageError(f"there is no memory {name}; `memory-pipeline memory list` shows all")
