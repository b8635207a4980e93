"""Checks of the program itself: its parts, its prompts, and the model that it asks."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata

from memory_pipeline import __version__
from memory_pipeline.config import ModelConfig
from memory_pipeline.errors import ConfigError, MemoryPipelineError, ModelError
from memory_pipeline.llm.openai_adapter import USER_VARIABLES
from memory_pipeline.llm.templates import load_template
from memory_pipeline.lock import who_holds
from memory_pipeline.phase2.curators.model import OPENING_VARIABLES
from memory_pipeline.resources import bundled_path
from memory_pipeline.seeing.doctor.findings import Patient, Said, error, note, ok, warning

DISTRIBUTION = "memory-pipeline"
_NAME = re.compile(r"[A-Za-z0-9._-]+")

#: Every template of ours, and the variables that it must have.
_TEMPLATES: Mapping[str, frozenset[str]] = {
    "extract_system": frozenset(),
    "extract_user": USER_VARIABLES,
    "curate_system": frozenset(),
    "curate_user": OPENING_VARIABLES,
}


def check_installation(_patient: Patient) -> Iterator[Said]:
    """Whether every library that the program needs is there."""
    yield ok(f"memory-pipeline {__version__}, Python {sys.version.split()[0]}")
    missing = missing_libraries()
    if missing:
        yield error(f"libraries are missing: {', '.join(missing)}", "install memory-pipeline again")


def missing_libraries(distribution: str = DISTRIBUTION) -> list[str]:
    """Name the libraries that an installed distribution needs and that are not there."""
    try:
        needed = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return [distribution]
    # Those of an extra are needed only by whoever asked for it.
    names = [_NAME.match(line) for line in needed if "extra ==" not in line]
    return [match.group() for match in names if match and not _is_installed(match.group())]


def _is_installed(distribution: str) -> bool:
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def check_service(patient: Patient) -> Iterator[Said]:
    """Whether something runs us by itself: a daemon that is alive, or a service of the system."""
    daemon = who_holds(patient.config.daemon_lock_path)
    if daemon.is_held:
        yield ok(f"a daemon is alive{f' (process {daemon.pid})' if daemon.pid else ''}")
    services = patient.services()
    for service in services:
        if service.is_running is False:
            yield warning(
                f"the service of {service.kind} is installed, but does not run", "`service install` starts it"
            )
        else:
            yield ok(f"a service of {service.kind} is installed")
        if service.differs:
            yield note(
                f"the service of {service.kind} differs from what would be installed now",
                "`service install` brings it up to date",
            )
    if not daemon.is_held and not services:
        yield note("nothing runs it by itself", "`service install`, a cron line, or leave the daemon running")


def check_prompts(_patient: Patient) -> Iterator[Said]:
    """Whether all templates are there, with the variables that they must have."""
    wrong = 0
    for name, variables in _TEMPLATES.items():
        try:
            load_template(name, variables)
        except MemoryPipelineError as failed:
            wrong += 1
            yield error(str(failed), "put the file back as it came, or install memory-pipeline again")
    if not wrong:
        yield ok(f"all {len(_TEMPLATES)} prompts are there ({bundled_path('prompts')})")


def check_model(patient: Patient) -> Iterator[Said]:
    """Whether the model can be asked: a request for the list of models, which sends no words and costs no tokens."""
    model = patient.config.model
    if not model.is_paid:
        yield ok("the embedded rules write the text, and no server is asked")
        return
    where = model.base_url or "OpenAI"
    kind = "another machine" if model.is_remote else "this machine"
    key = (patient.environ.get(model.api_key_env) or "").strip()
    if model.is_remote and not key:
        named = f"the variable {model.api_key_env}" if model.api_key_env else "model.api_key_env is empty: a variable"
        yield error(
            f"{named}, which is to hold the key of the server, is not set here",
            "set it, for the daemon or the cron line too, or name another in model.api_key_env",
        )
        return
    if model.is_remote and model.base_url.lower().startswith("http://"):
        yield warning(f"what is sent to {where} goes unencrypted over the network", "use an https address")
    if patient.offered_models is None:
        yield note(f"the model's server on {kind} was not asked", "leave out --offline to ask it")
        return
    try:
        offered = patient.offered_models(model, key or None)
    except (ConfigError, ModelError) as failed:
        what, _, remedy = str(failed).partition("; ")
        yield error(what, remedy or "start the server, or mend model.base_url, the key or the network")
        return
    yield ok(f"the model's server on {kind} answers")
    yield from _unknown_models(model, offered)


def _unknown_models(model: ModelConfig, offered: list[str]) -> Iterator[Said]:
    known = {name.removesuffix(":latest") for name in offered}
    asked = {"model.extract_model": model.extract_model, "model.consolidation_model": model.consolidation_model}
    for key, name in asked.items():
        if name and offered and name.removesuffix(":latest") not in known:
            some = ", ".join(sorted(offered)[:5])
            yield warning(f"the server does not list {name} ({key}); it lists {some}", f"check {key}")
