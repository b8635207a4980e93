"""The commands for packets: sessions as Markdown that a person can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, open_app
from memory_pipeline.cli.thread_commands import find_thread
from memory_pipeline.errors import RolloutError, UsageError
from memory_pipeline.records import PROJECT_SCOPE_PREFIX

if TYPE_CHECKING:
    from memory_pipeline.review.packets import KeptPacket


@click.group()
def packet() -> None:
    """Turn sessions into packets: Markdown to read, with an audit of what is missing."""


@packet.command("build")
@click.option("--session", metavar="ID", help="The session; its id may be shortened.")
@click.option(
    "--next", "following", type=click.IntRange(1, 1000), metavar="N", help="The newest N sessions without a packet."
)
@JSON_OPTION
@click.pass_obj
def packet_build(place: Place, *, session: str | None, following: int | None, as_json: bool) -> int:
    """Build the packet of one session, or of the newest that have none; without an option, of the newest one."""
    from memory_pipeline.cli import output

    if session is not None and following is not None:
        raise UsageError("--session and --next: give one of them")
    built: list[KeptPacket] = []
    failed: list[dict[str, str]] = []
    with open_app(place.load()) as app:
        packets = app.packets()
        if session is not None:
            wanted = [find_thread(app, session, place).thread_id]
        else:
            wanted = packets.without_one(limit=following or 1)
        for thread_id in wanted:
            try:
                built.append(packets.build(thread_id))
            except RolloutError as error:
                failed.append({"session_id": thread_id, "error": str(error)})
    if as_json:
        output.print_json({"built": [_document(one) for one in built], "failed": failed})
        return EXIT_FAILED if failed else EXIT_DONE
    for one in built:
        click.echo(f"{output.printable(str(one.path))}: {_audit_line(one)}")
        for problem in one.problems:
            output.say(output.printable(problem))
    for fault in failed:
        output.say(output.printable(f"no packet of {fault['session_id']}: {fault['error']}"))
    if not wanted:
        click.echo(f"Every session that can be read has a packet; `{place.command('packet list')}` shows them.")
    return EXIT_FAILED if failed else EXIT_DONE


@packet.command("list")
@JSON_OPTION
@click.pass_obj
def packet_list(place: Place, *, as_json: bool) -> int:
    """List the packets, also those that other tools put into the folder."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        found = app.packets().every()
    if as_json:
        output.print_json([_document(one) for one in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No packets. `{place.command('packet build')}` builds one.")
        return EXIT_DONE
    rows = [(one.session_id, one.origin, one.audit.coverage.value, str(one.audit.turns_rendered)) for one in found]
    output.print_table(("session", "origin", "coverage", "turns"), rows, flexible=["session"])
    return EXIT_DONE


@packet.command("show")
@click.argument("session")
@JSON_OPTION
@click.pass_obj
def packet_show(place: Place, *, session: str, as_json: bool) -> int:
    """Show the packet of a session."""
    from memory_pipeline.cli import output
    from memory_pipeline.review.packet import render_packet

    with open_app(place.load()) as app:
        kept, read = app.packets().read(session)
    if as_json:
        turns = [
            {
                "number": turn.number,
                "turn_id": turn.turn_id,
                "requests": list(turn.requests),
                "updates": list(turn.updates),
                "answers": list(turn.answers),
                "commands": list(turn.commands),
                "files": list(turn.files),
                "events": list(turn.events),
            }
            for turn in read.turns
        ]
        output.print_json({**_document(kept), "turns": turns})
    else:
        # Written anew from what was read: whoever made the file, nothing hides in it and nothing steers a terminal.
        click.echo(render_packet(read).decode(), nl=False)
    return EXIT_DONE


@packet.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--scope", metavar="SCOPE", help="The project that it is of (project:KEY): what it says becomes drafts.")
@JSON_OPTION
@click.pass_obj
def packet_import(place: Place, *, file: Path, scope: str | None, as_json: bool) -> int:
    """Take in a packet that another tool made of a session whose log is gone."""
    from memory_pipeline.cli import output

    if scope is not None and not (scope.startswith(PROJECT_SCOPE_PREFIX) and scope.removeprefix(PROJECT_SCOPE_PREFIX)):
        raise UsageError(f"--scope: {scope} is no project; write project:KEY, as `{place.command('memory list')}` does")
    with open_app(place.load()) as app:
        kept = app.import_packet(file, scope=scope)
    if as_json:
        output.print_json(_document(kept))
    else:
        drafts = f"{kept.drafts} drafts wait" if kept.drafts else "no drafts"
        click.echo(f"{output.printable(str(kept.path))}: {_audit_line(kept)}, {drafts}")
        if not kept.is_known:
            output.say("it says nothing of its project; import it with --scope project:KEY to make drafts of it")
        for problem in kept.problems:
            output.say(output.printable(problem))
    return EXIT_DONE


def _document(kept: KeptPacket) -> dict[str, Any]:
    return {
        "session_id": kept.session_id,
        "path": str(kept.path),
        "origin": kept.origin,
        "is_known": kept.is_known,
        "drafts": kept.drafts,
        "audit": kept.audit.as_document(),
        "problems": list(kept.problems),
    }


def _audit_line(kept: KeptPacket) -> str:
    audit = kept.audit
    return f"{audit.turns_rendered} turns, coverage {audit.coverage}"
