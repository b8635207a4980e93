"""Makes all checks, one after the other; one that trips is told as such and does not stop the others."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.redact import redact
from memory_pipeline.seeing.doctor import places, program, stored
from memory_pipeline.seeing.doctor.findings import Check, Finding, Level, Patient
from memory_pipeline.store.looking import CantLookError

#: In the order in which they are told.
CHECKS: Mapping[str, Check] = {
    "installation": program.check_installation,
    "configuration": places.check_configuration,
    "homes": places.check_homes,
    "codex": places.check_codex,
    "permissions": places.check_permissions,
    "disk": places.check_disk,
    "database": stored.check_database,
    "backups": stored.check_backups,
    "locks": stored.check_locks,
    "sessions": stored.check_sessions,
    "journal": stored.check_journal,
    "forgotten": stored.check_tombstones,
    "clock": places.check_clock,
    "service": program.check_service,
    "prompts": program.check_prompts,
    "model": program.check_model,
}


def examine(patient: Patient, checks: Mapping[str, Check] = CHECKS) -> Iterator[Finding]:
    """Yield what each check finds, as soon as it is found."""
    for name, check in checks.items():
        yield from _made(name, check, patient)


def _made(name: str, check: Check, patient: Patient) -> Iterator[Finding]:
    try:
        for level, what, remedy in check(patient):
            yield Finding(check=name, level=level, what=redact(what).text, remedy=remedy)
    except CantLookError as why:
        # What is wrong with the database is told once, by its own check.
        yield Finding(
            check=name, level=Level.NOTE, what=f"not looked at, since {why}", remedy="see the check `database`"
        )
    except MemoryPipelineError as failed:
        yield Finding(check=name, level=Level.ERROR, what=redact(str(failed)).text, remedy="mend that and look again")
    except Exception as tripped:  # noqa: BLE001 - a check that trips must not hide what the others find
        place = traceback.extract_tb(tripped.__traceback__)[-1]
        reason = f": {tripped.strerror}" if isinstance(tripped, OSError) and tripped.strerror else ""
        yield Finding(
            check=name,
            level=Level.ERROR,
            what=f"the check itself tripped: {type(tripped).__name__} in {place.name}, line {place.lineno}{reason}",
            remedy="if the file that it looked at is as it should be, please report it",
        )


def without_configuration(problem: MemoryPipelineError) -> list[Finding]:
    """Say that nothing else can be looked at while the configuration can't be used."""
    lost = "what depends on it can't be looked at"
    return [
        Finding(check="configuration", level=Level.ERROR, what=redact(str(problem)).text, remedy="mend it; " + lost),
    ]
