"""The chores between two passes: a backup when something was published, and once a day a look at the whole database."""

from __future__ import annotations

from memory_pipeline.clock import DAY_SECONDS, Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import StoreError
from memory_pipeline.safekeeping.backup import back_up_if_due
from memory_pipeline.store.store import Store

_DAILY = "upkeep"
#: Paid calls older than this are kept as sums a day: no cap looks further back than a week.
_CALLS_KEPT_DAYS = 400


def keep_up(config: Config, store: Store, clock: Clock) -> list[str]:
    """Do the chores that are due; returns what a person should know of them. What fails is tried at the next pass."""
    problem = back_up_if_due(config, store, clock)
    told = [problem] if problem else []
    try:
        _do_daily(store, now=clock.now())
    except (OSError, StoreError) as error:
        told.append(f"the upkeep of the database was cut off: {error}; the next run tries again")
    return told


def _do_daily(store: Store, *, now: float) -> None:
    last = store.upkeep.last_done(_DAILY)
    # A clock that was set back must not keep the chores waiting until it has come to the old time again.
    if last is not None and 0 <= now - last < DAY_SECONDS:
        return
    if not store.upkeep.find_faults():
        store.upkeep.tidy(now=now)
        store.ledger.fold(before=now - _CALLS_KEPT_DAYS * DAY_SECONDS)
        store.upkeep.give_room_back()
        store.upkeep.note_done(_DAILY, now=now)
