"""The commands that have the system run us: service install, status, uninstall."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place
from memory_pipeline.config import STATE_DIR_ENV, Config
from memory_pipeline.errors import ServiceError

if TYPE_CHECKING:
    from memory_pipeline.service.systems import Service, ServiceState

_KINDS = ("systemd", "launchd", "crontab")


def _kind_option(said: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--kind", type=click.Choice(_KINDS), help=f"{said}  [default: what fits this machine]")


@click.group()
def service() -> None:
    """Have your system run the daemon, or a pass now and then."""


@service.command("install")
@_kind_option("Who runs it: a user unit, an agent, or a line in your crontab.")
@click.option("--print", "only_print", is_flag=True, help="Print what would be installed, and change nothing.")
@JSON_OPTION
@click.pass_obj
def service_install(place: Place, *, kind: str | None, only_print: bool, as_json: bool) -> int:
    """Install and start the service, for the configuration and state folder of this call."""
    from memory_pipeline.cli import output
    from memory_pipeline.daemon import Schedule
    from memory_pipeline.service.systems import usual_kind

    config = place.load()
    Schedule(config, jitter=lambda: 0.0)  # what could not run is not installed
    chosen = _service(place, config, kind or usual_kind())
    if only_print:
        if as_json:
            output.print_json({"kind": chosen.kind, "text": chosen.text()})
        else:
            click.echo(chosen.text(), nl=False)
        return EXIT_DONE
    hints = chosen.install()
    if config.model.is_remote:
        hints.append(chosen.key_hint(config.model.api_key_env))
    return _tell(place, [(chosen.state(), hints)], as_json=as_json)


@service.command("status")
@_kind_option("Which one to look at.")
@JSON_OPTION
@click.pass_obj
def service_status(place: Place, *, kind: str | None, as_json: bool) -> int:
    """Say whether a service is installed, runs, and is what would be installed now."""
    return _tell(place, [(each.state(), []) for each in chosen_services(place, kind)], as_json=as_json)


@service.command("uninstall")
@_kind_option("Which one to take away.")
@JSON_OPTION
@click.pass_obj
def service_uninstall(place: Place, *, kind: str | None, as_json: bool) -> int:
    """Stop the service and take away what was installed, and nothing else."""
    told = []
    for each in chosen_services(place, kind):
        hints = each.uninstall()
        told.append((each.state(), hints))
    return _tell(place, told, as_json=as_json)


def _service(place: Place, config: Config, kind: str) -> Service:
    from memory_pipeline.service.job import service_job
    from memory_pipeline.service.systems import ServiceKind, service_of

    job = service_job(
        config,
        explicit_state_dir=bool(place.state_dir or os.environ.get(STATE_DIR_ENV)),
        environ=os.environ,
        interpreter=sys.executable,
    )
    return service_of(ServiceKind(kind), job, os.environ)


def chosen_services(place: Place, kind: str | None = None) -> list[Service]:
    """Return the service of a kind, or else all that are installed."""
    config = place.load()
    if kind:
        return [_service(place, config, kind)]
    installed = []
    for each in (_service(place, config, kind) for kind in _KINDS):
        with suppress(ServiceError):  # what this system can't even be asked for is not installed
            if each.state().is_installed:
                installed.append(each)
    return installed


def _tell(place: Place, told: Sequence[tuple[ServiceState, Sequence[str]]], *, as_json: bool) -> int:
    from memory_pipeline.cli import output

    if as_json:
        output.print_json({"services": [{**_document(state), "hints": hints} for state, hints in told]})
        return EXIT_DONE
    for state, hints in told:
        click.echo(output.printable(_sentence(state, place)))
        for hint in hints:
            output.say(hint)
    if not told:
        click.echo(f"No service is installed; `{place.command('service install')}` installs one.")
    return EXIT_DONE


def _document(state: ServiceState) -> dict[str, Any]:
    return {
        "kind": state.kind,
        "place": state.place,
        "installed": state.is_installed,
        "running": state.is_running,
        "differs": state.differs,
    }


def _sentence(state: ServiceState, place: Place) -> str:
    if not state.is_installed:
        return f"{state.kind}: not installed ({state.place})."
    runs = {True: ", running", False: ", not running", None: ""}[state.is_running]
    differs = (
        f"\nIt differs from what would be installed now; `{place.command('service install')}` brings it up to date."
        if state.differs
        else ""
    )
    return f"{state.kind}: installed ({state.place}){runs}.{differs}"
