"""The commands that work: run, daemon, scan."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import click

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, EXIT_LOCKED, JSON_OPTION, Place, open_app
from memory_pipeline.cli.run_options import run_options
from memory_pipeline.cli.signals import stoppable
from memory_pipeline.config import Config
from memory_pipeline.errors import UsageError
from memory_pipeline.records import RunCounts


@click.command("run")
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
    return run_once(place, **options)


@click.command()
@click.pass_obj
def daemon(place: Place) -> int:
    """Run a pass now and then by daemon.schedule, until a signal asks to stop.

    SIGHUP has it read its configuration again. Exit codes: 0 stopped, 2 wrong configuration, 75 another daemon works
    for this state folder, 130 left at once by a second signal.
    """
    import random

    from memory_pipeline.cli.logs import log_to_stderr
    from memory_pipeline.clock import SystemClock
    from memory_pipeline.daemon import Daemon, Wishes, only_daemon
    from memory_pipeline.pipeline import PassOptions

    log_to_stderr(logging.INFO)
    told: set[str] = set()

    def check(config: Config) -> None:
        with open_app(config, stop) as app:
            app.check_ready()

    def run_pass(config: Config) -> float | None:
        # Opened anew for each pass: whatever a person put in place of a file meanwhile is taken as it is.
        with open_app(config, stop) as app:
            _log_pass(app.run_once(PassOptions()), told)
            return app.store.jobs.next_lease_end()

    wishes = Wishes()
    config = place.load()
    # Jitter only spreads passes over time; nothing that is stored or shown depends on it.
    runner = Daemon(
        config,
        load=place.load,
        check=check,
        run_pass=run_pass,
        wishes=wishes,
        clock=SystemClock(),
        jitter=random.random,
    )
    with stoppable(on_stop=wishes.stop, on_hangup=wishes.reread) as stop, only_daemon(config):
        runner.run()
    return EXIT_DONE


@click.command()
@click.option("--force", is_flag=True, help="Pass over too_recent and too_short, as `run --force` does.")
@JSON_OPTION
@click.pass_obj
def scan(place: Place, *, force: bool, as_json: bool) -> int:
    """Index what is on disk and say what a run would extract, without extracting."""
    from memory_pipeline.cli import output

    with stoppable() as stop, open_app(place.load(), stop) as app, output.progress_bars(quiet=as_json) as (on_index, _):
        discovery = app.scan(force=force, on_index=on_index)
        due = app.store.jobs.count_due(now=app.clock.now())
        skipped = app.store.threads.gate_counts()
    for problem in discovery.problems:
        output.say(problem)
    if as_json:
        output.print_json(
            {
                "discovered": discovery.threads,
                "opened": discovery.opened,
                "moved": discovery.moved,
                "vanished": discovery.vanished,
                "unreadable": discovery.unreadable,
                "unlistable_folders": discovery.unlistable,
                "eligible": due,
                "skipped": skipped,
            }
        )
        return EXIT_DONE
    click.echo(f"{discovery.threads} sessions on disk; {discovery.opened} new or changed, {due} due for extraction.")
    if skipped:
        click.echo(f"Held back: {output.counted(skipped)}.")
    return EXIT_DONE


def run_once(
    place: Place,
    *,
    phase1: bool,
    phase2: bool,
    force: bool,
    limit: int | None,
    wait: bool,
    adopt: bool,
    as_json: bool,
    samples: str,
) -> int:
    """Run one pass, tell what it did, and return the exit code."""
    from memory_pipeline.cli import output
    from memory_pipeline.cli.logs import log_to_stderr
    from memory_pipeline.pipeline import PassOptions

    log_to_stderr(logging.WARNING)
    both = phase1 == phase2
    if adopt and not (phase2 or both):
        raise UsageError("--adopt takes over what phase two writes; leave out --phase1, or add --phase2")
    options = PassOptions(
        phase1=phase1 or both, phase2=phase2 or both, force=force, limit=limit, wait=wait, adopt=adopt
    )
    config = place.load()
    if samples == "if-empty":
        place, config = _samples_if_empty(place, config)
    with (
        stoppable() as stop,
        open_app(config, stop) as app,
        output.progress_bars(quiet=as_json) as (on_index, on_extract),
    ):
        counts = app.run_once(options, on_index=on_index, on_extract=on_extract)
    for problem in (*counts.phase1.problems, *counts.review.problems, *counts.phase2.problems):
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


def _log_pass(counts: RunCounts, told: set[str]) -> None:
    """Log what a pass did; what was ``told`` after the pass before it is not told again."""
    from memory_pipeline.records import Phase2Outcome

    logger = logging.getLogger("memory_pipeline.daemon")
    phase1, phase2 = counts.phase1, counts.phase2
    outcome = (
        f"{phase1.succeeded} succeeded, {phase1.no_output} no_output, {phase1.failed} failed, phase2 {phase2.outcome}"
    )
    seconds = round(phase1.seconds + phase2.seconds, 3)
    logger.info("pass done", extra={"action": "pass", "outcome": outcome, "seconds": seconds})
    # Another run that holds the workspace does our work, and the next pass comes by itself.
    of_phase2 = () if phase2.outcome is Phase2Outcome.LOCKED else phase2.problems
    problems = (*phase1.problems, *counts.review.problems, *of_phase2)
    for problem in problems:
        if problem not in told:
            logger.warning("%s", problem, extra={"action": "pass"})
    told.clear()
    told.update(problems)
