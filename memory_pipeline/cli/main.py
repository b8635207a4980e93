"""The command ``memory-pipeline``: options, exit codes, one clear line for every failure."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from memory_pipeline.cli.commands import cli
from memory_pipeline.cli.place import EXIT_INTERRUPTED, AtOnce
from memory_pipeline.errors import MemoryPipelineError, reason_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the program with the exit code that its interface promises."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _make_output_safe()
    code = run(given)
    _flush()
    if isinstance(code, AtOnce):
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns its exit code."""
    try:
        outcome = cli.main(list(arguments), prog_name="memory-pipeline", standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.Abort:
        return _failed(arguments, "interrupted", EXIT_INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())  # a group without a command: its help, as it stands
        return 2
    except click.ClickException as error:
        hint = ""
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f" (see `{error.ctx.command_path} --help`)"
        return _failed(arguments, f"{error.format_message()}{hint}", 2)
    except MemoryPipelineError as error:
        return _failed(arguments, str(error), error.exit_code, lines=error.lines)
    except OSError as error:
        return _failed(arguments, reason_of(error), 1)
    except Exception as error:  # noqa: BLE001 - a fault of ours is one line too, and never quotes what was read
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.name}, line {frame.lineno}"
        return _failed(arguments, f"internal error: {type(error).__name__} in {where}; please report it", 1)
    return outcome if isinstance(outcome, int) else 0


def _failed(arguments: Sequence[str], message: str, exit_code: int, *, lines: Sequence[str] = ()) -> int:
    from memory_pipeline.cli.output import print_json, say

    line = " ".join(message.split())
    with suppress(OSError):  # the terminal may be what was lost
        for shown in (f"memory-pipeline: {line}", *lines):
            say(shown)
    if "--json" in arguments:
        with suppress(OSError):  # what failed may be standard output itself
            print_json({"error": "\n".join([line, *lines]), "exit_code": exit_code})
    return exit_code


def _make_output_safe() -> None:
    """Let output go nowhere when its stream is closed, and never fail over a character that the terminal lacks."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it lives as long as the program
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python would complain once more when it closes the stream by itself.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
