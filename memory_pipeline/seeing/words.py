"""Gates and lines of the chronicle in words that a person understands."""

from __future__ import annotations

from collections.abc import Mapping

from memory_pipeline.records import ChronicleLine, ConsolidationLine, Gate, Happened

#: Why a session waits. Read after "3 sessions: ".
GATE_WORDS: Mapping[Gate, str] = {
    Gate.TOO_RECENT: "still going on, or just ended",
    Gate.TOO_OLD: "ended too long ago",
    Gate.TOO_SHORT: "too short to hold anything to keep",
    Gate.SOURCE: "not run by a person at a terminal",
    Gate.SUBAGENT: "the log of a sub-agent",
    Gate.OWN_RUN: "a run of this program, or of a memory",
    Gate.ARCHIVED: "archived before it was read",
    Gate.DISABLED: "switched off by you (it, or its project), or by its log",
    Gate.POLLUTED: "its log calls its memory polluted",
    Gate.EXTERNAL_CONTEXT: "holds results from the web or MCP",
    Gate.NO_USER_MESSAGE: "nobody typed anything in it",
    Gate.BUDGET: "[budget] leaves no room for it",
    Gate.RATE_LIMIT: "the agent's own quota is low",
    Gate.PROVIDER_POLICY: "ran on a local model, and stays off a remote one",
    Gate.OVERSIZE: "larger than a log may be",
    Gate.UNREADABLE: "can't be read",
    Gate.EMPTY: "the log is empty",
    Gate.NOT_COMPLETED: "a submitted task that is not completed",
}

#: What a person can do about a gate that does not open by itself. The others just need time, or nothing.
GATE_REMEDIES: Mapping[Gate, str] = {
    Gate.TOO_OLD: "raise gates.max_age_days",
    Gate.TOO_SHORT: "run --force",
    Gate.SOURCE: 'add "headless" to gates.sources',
    Gate.ARCHIVED: "set gates.include_archived",
    Gate.DISABLED: "threads show THREAD tells by what; threads enable THREAD, or settings unset",
    Gate.EXTERNAL_CONTEXT: "change gates.external_context",
    Gate.BUDGET: "raise a cap in [budget]; threads show THREAD tells if it needs more than a cap",
    Gate.RATE_LIMIT: "wait, or lower gates.min_rate_limit_remaining_percent",
    Gate.PROVIDER_POLICY: "set model.send_local_model_sessions",
    Gate.OVERSIZE: "raise gates.max_rollout_bytes",
    Gate.UNREADABLE: "threads show THREAD gives the reason",
}

_HAPPENED: Mapping[Happened, str] = {
    Happened.INDEXED: "found",
    Happened.GREW: "its log says something new",
    Happened.MOVED: "its log lies elsewhere now",
    Happened.VANISHED: "its log is gone; what it said stays",
    Happened.RETURNED: "its log is there again",
    Happened.OPENED: "nothing holds it back any longer",
    Happened.NO_OUTPUT: "read; nothing in it is worth keeping",
    Happened.GIVEN_BACK: "given back unfinished; no try is used",
    Happened.RETRIED: "you gave it all its tries again",
    Happened.DISABLED: "you keep it out",
    Happened.ENABLED: "you let it count again",
    Happened.FORGOTTEN: "you had it forgotten",
}


def line_in_words(line: ChronicleLine) -> str:
    """Say in one sentence what was decided for a thread."""
    why = f": {line.reason}" if line.reason else ""
    tries = f"{line.count or 0} {'try' if line.count == 1 else 'tries'}"
    if line.what is Happened.GATED and line.gate is not None:
        return f"held back by {line.gate}: {GATE_WORDS[line.gate]}"
    if line.what is Happened.WITHDRAWN:
        return f"{_entries(line.count)} withdrawn while that holds"
    if line.what is Happened.CLAIMED:
        return f"taken for extraction, try {line.count}"
    if line.what is Happened.TAKEN_OVER:
        return f"taken over from a run that died, try {line.count}"
    if line.what is Happened.SUCCEEDED:
        return f"extracted: {_entries(line.count)}"
    if line.what is Happened.GIVEN:
        return f"given {line.count or 0} {'memory' if line.count == 1 else 'memories'}"
    if line.what is Happened.FAILED:
        return f"failed, {tries} used{why}"
    if line.what is Happened.EXHAUSTED:
        return f"failed for good after {tries}{why}"
    return _HAPPENED[line.what]


def consolidation_in_words(line: ConsolidationLine) -> str:
    """Say in one sentence what became of a consolidation."""
    did = ", ".join(f"{count} {operation}" for operation, count in line.operations.items())
    if line.state == "done":
        return f"consolidated: {did or 'no memory changed'}"
    if line.state == "failed":
        return f"consolidation failed: {line.reason or 'no reason is kept'}"
    if line.state == "publishing":
        return f"consolidated, not published yet: {line.reason or did or 'no memory changed'}"
    return "consolidation began"


def _entries(count: int | None) -> str:
    return f"{count or 0} {'entry' if count == 1 else 'entries'}"
