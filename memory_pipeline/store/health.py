"""A look at a database that others may be using."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memory_pipeline.errors import DamagedDatabaseError, LockedError
from memory_pipeline.lock import UseLock
from memory_pipeline.store.connection import connect, suspect, suspicion_of
from memory_pipeline.store.opening import MENDING_SECONDS, faults_in


def faults_of_used(path: Path) -> list[str]:
    """Return what is wrong with a database, beside whoever uses it; damage is noted, so that the next start mends it.

    Raises:
        LockedError: another process has had it alone for a long time.
        StoreError: it can't be opened.
    """
    use = UseLock(path.with_name("database.lock"))
    try:
        if not use.share(wait_seconds=MENDING_SECONDS):
            raise LockedError(f"{path}: another run has been looking after it for {MENDING_SECONDS:g} s")
        with closing(connect(path)) as connection:
            faults = faults_in(connection, thorough=True)
    except DamagedDatabaseError as error:
        faults = [error.reason]
    finally:
        use.release()
    if not faults and suspicion_of(path).exists():
        faults = ["it seemed damaged to a run"]
    if faults:
        suspect(path)
    return faults
