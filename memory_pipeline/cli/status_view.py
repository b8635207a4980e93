"""The status at a glance, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memory_pipeline.cli.output import counted, drafts_wait, printable
from memory_pipeline.redact import redact

Command = Callable[[str], str]
Part = Callable[[Mapping[str, Any], Command], Iterator[str]]

_MOST_LISTED = 4
_MOST_GATES = 6
_REASON_CHARS = 150


def status_lines(document: Mapping[str, Any], command: Command) -> list[str]:
    """Return the status as lines: each begins with what it is about, or goes on with the one above."""
    lines = [
        f"State:     {document['state_dir']}",
        f"Memories:  {document['memories_dir']}{_memories(document)}",
        f"Provider:  {document['provider']}",
    ]
    parts: list[Part] = [_database, _running, _folders]
    if _is_known(document):
        parts[2:2] = [_sessions, _waiting, _failures, _rest, _drafts, _published, _given, _cost]
    for part in parts:
        lines += part(document, command)
    return [printable(line) for line in lines]


def _memories(document: Mapping[str, Any]) -> str:
    return f" ({counted(document['memories']) or 'none yet'})" if _is_known(document) else ""


def _is_known(document: Mapping[str, Any]) -> bool:
    """Whether it is known what is stored: of a database that can't be read, it is not even known that it is empty."""
    return document["database"]["state"] in ("fine", "missing")


def _database(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    database = document["database"]
    if database["problem"]:
        yield f"Database:  {database['problem']}"
        yield f"           {database['remedy']}"


def _running(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    running, lock = document["running"], document["workspace_lock"]
    alive = [job for job in running if job["is_alive"]]
    told = []
    if document["daemon"]["is_held"]:
        pid = document["daemon"]["pid"]
        told.append(f"a daemon{f', process {pid}' if pid else ''}")
    if alive:
        since = min((job["since"] for job in alive if job["since"]), default=None)
        pids = sorted({job["pid"] for job in alive if job["pid"]})
        by = f" by process {', '.join(map(str, pids))}" if pids else ""
        told.append(f"extracting {_sessions_counted(len(alive))}{by}{f', since {since}' if since else ''}")
    if lock["is_held"]:
        by = f" by process {lock['pid']}" if lock["pid"] else ""
        since = document["consolidating_since"]
        told.append(f"the workspace is held{by}" + (f", consolidating since {since}" if since else ""))
    dead = len(running) - len(alive)
    if dead:
        told.append(f"{_sessions_counted(dead)} left by a run that died; the next run takes over")
    for number, sentence in enumerate(told or ["nothing, and no daemon"]):
        yield f"{'Running:' if number == 0 else '':11}{sentence}"


def _sessions(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    yield f"Sessions:  {counted(document['threads']) or 'none indexed yet'}; {document['due']} due now"
    told = []
    if not document["generate_memories"]:
        told.append("settings.generate_memories is false, so nothing is extracted where it is not set to true")
    if not document["use_memories"]:
        told.append("settings.use_memories is false, so no memory is given to a task where it is not set to true")
    for name, what in (("generate_off", "not extracted"), ("use_off", "given no memories")):
        counts = {key: count for key, count in document["own_switches"][name].items() if count}
        if counts:
            told.append(f"by settings of their own, {what}: {counted(counts)}")
    for number, sentence in enumerate(told):
        yield f"{'Switch:' if number == 0 else '':11}{sentence}"


def _waiting(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    waiting = document["waiting"]
    for number, one in enumerate(waiting[:_MOST_GATES]):
        until = f"; the first from {one['opens_at']}" if one["opens_at"] else ""
        remedy = f" [{one['remedy']}]" if one["remedy"] and not until else ""
        yield f"{'Held back:' if number == 0 else '':11}{one['count']} {one['gate']}: {one['why']}{until}{remedy}"
    if len(waiting) > _MOST_GATES:
        rest = {one["gate"]: one["count"] for one in waiting[_MOST_GATES:]}
        yield f"           and {counted(rest)}"
    if document["next_opening_at"]:
        yield f"Next:      something opens, or is tried again, at {document['next_opening_at']}"


def _failures(document: Mapping[str, Any], command: Command) -> Iterator[str]:
    failures = document["failures"]
    if not failures:
        return
    for number, one in enumerate(failures[:_MOST_LISTED]):
        reason = redact(one["reason"]).text
        shown = reason if len(reason) <= _REASON_CHARS else f"{reason[: _REASON_CHARS - 1]}…"
        yield f"{'Failed:' if number == 0 else '':11}{one['count']} {one['state']}: {shown}"
    exhausted = any(one["state"] == "exhausted" for one in failures)
    state = "exhausted" if exhausted else "error"
    then = "mend the cause, then" if exhausted else "tried again by itself;"
    ask = "" if exhausted else " does not wait"
    yield f"           {then} `{command('threads retry THREAD')}`{ask}"
    yield f"           `{command(f'threads list --state {state}')}` shows which"


def _given(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    given = document["given"]
    if given["last_day"]:
        tasks = "task" if given["last_day"] == 1 else "tasks"
        yield f"Given:     memories to {given['last_day']} {tasks} in a day, {given['tokens']} tokens"


def _rest(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    if document["provider_rests_until"]:
        yield f"Resting:   nothing is sent until {document['provider_rests_until']}"
        yield f"           {redact(document['provider_rest_reason'] or 'no reason is known').text}"


def _drafts(document: Mapping[str, Any], command: Command) -> Iterator[str]:
    waiting = document["drafts"]["waiting"]
    if waiting:
        yield f"Review:    {drafts_wait(waiting, command)}"


def _published(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    last = document["last_consolidation"]
    changed = counted(last["changed"])
    yield f"Published: {last['finished_at'] or 'never'}{f'; it did {changed}' if changed else ''}"
    if last["error"]:
        when = f"; next try at {last['retry_at']}" if last["retry_at"] else ""
        yield f"           the last consolidation failed: {redact(last['error']).text}{when}"


def _cost(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    tokens = document["tokens"]
    if document["provider"] != "openai" and not tokens["last_week"]:
        return
    yield f"Tokens:    {_used(tokens['last_day'], tokens['daily_cap'])} in the last day"
    yield f"           {_used(tokens['last_week'], tokens['weekly_cap'])} in seven days"
    holds = [document["paid_hold"]] if document["paid_hold"] else []
    holds += document["project_holds"][:_MOST_LISTED]
    for number, hold in enumerate(holds):
        yield f"{'Paid work:' if number == 0 else '':11}{hold['reason']}"
    if not holds and not document["rate_limit"]["snapshots"]:
        yield "Quota:     no current rate-limit snapshot in the logs, so none holds paid work"


def _used(spent: int | None, cap: int) -> str:
    if spent is None:
        return "an unknown number"
    return f"{spent} of {cap}, {max(cap - spent, 0)} left," if cap else f"{spent}, no cap,"


def _folders(document: Mapping[str, Any], _command: Command) -> Iterator[str]:
    problems = document["folder_problems"]
    for number, problem in enumerate(problems[:_MOST_LISTED]):
        yield f"{'Logs:' if number == 0 else '':11}{problem}"
    if len(problems) > _MOST_LISTED:
        yield f"           and {len(problems) - _MOST_LISTED} more"


def _sessions_counted(number: int) -> str:
    return f"{number} {'session' if number == 1 else 'sessions'}"
