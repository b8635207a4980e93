"""The commands that keep the state safe: state backup, state restore, state verify."""

from __future__ import annotations

from pathlib import Path

import click

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, open_app


@click.group()
def state() -> None:
    """Back up, restore and check everything that is kept."""


@state.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@JSON_OPTION
@click.pass_obj
def backup(place: Place, path: Path | None, *, as_json: bool) -> int:
    """Copy everything that is kept into one folder, PATH, or beside the backups that are made by themselves."""
    from memory_pipeline.cli import output
    from memory_pipeline.clock import iso
    from memory_pipeline.safekeeping.backup import back_up

    config = place.load()
    with open_app(config) as app:
        made = back_up(config, app.store, app.clock, path.absolute() if path else None)
    size = sum(size for size, _ in made.files.values())
    if as_json:
        document = {"path": str(made.path), "made_at": iso(made.made_at), "files": len(made.files), "bytes": size}
        output.print_json(document)
        return EXIT_DONE
    click.echo(f"Backed up to {made.path}: {len(made.files)} files, {size} bytes.")
    return EXIT_DONE


@state.command()
@click.argument("path", type=click.Path(path_type=Path))
@JSON_OPTION
@click.pass_obj
def restore(place: Place, path: Path, *, as_json: bool) -> int:
    """Put the backup at PATH in the place of the state. What it takes the place of is kept; the forgotten stays so."""
    from memory_pipeline.cli import output
    from memory_pipeline.clock import SystemClock, iso
    from memory_pipeline.safekeeping.backup import read_manifest
    from memory_pipeline.safekeeping.restore import finish_restoring
    from memory_pipeline.safekeeping.restore import restore as put_back

    config = place.load()
    finish_restoring(config)
    made_at = iso(read_manifest(path.absolute()).made_at)
    aside = put_back(config, path.absolute(), SystemClock())
    with open_app(config):
        pass  # what was forgotten since the backup is forgotten in it, too
    kept = str(aside) if aside.exists() else None
    if as_json:
        output.print_json({"path": str(path.absolute()), "made_at": made_at, "replaced_kept_in": kept})
        return EXIT_DONE
    click.echo(f"Restored the backup of {made_at}.")
    if kept:
        click.echo(f"What it took the place of is kept in {kept}.")
    click.echo(f"Logs that changed since are read again by the next `{place.command('run')}`.")
    return EXIT_DONE


@state.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@JSON_OPTION
@click.pass_obj
def verify(place: Place, path: Path | None, *, as_json: bool) -> int:
    """Check that everything that is kept is whole, or that the backup at PATH is. Exit code 1 if something is wrong."""
    from memory_pipeline.cli import output
    from memory_pipeline.safekeeping.verify import verify_backup, verify_state

    config = place.load()
    faults = verify_backup(path.absolute()) if path else verify_state(config)
    if as_json:
        found = [{"path": str(fault.path), "what": fault.what, "advice": fault.advice} for fault in faults]
        output.print_json({"path": str(path.absolute()) if path else config.state_dir, "faults": found})
    elif not faults:
        click.echo("Everything that is kept is whole." if path is None else "The backup is whole.")
    for fault in faults if not as_json else ():
        place_of_fault = "" if fault.what.startswith(str(fault.path)) else f"{fault.path}: "
        click.echo(f"{output.printable(place_of_fault + fault.what)}\n  {output.printable(fault.advice)}")
    return EXIT_FAILED if faults else EXIT_DONE
