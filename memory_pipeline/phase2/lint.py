"""Checks a whole workspace on demand: the memories, what they rest on, and every file. Changes nothing."""

from __future__ import annotations

from memory_pipeline.config import JOURNAL_FILE, Config
from memory_pipeline.phase2.baseline import read_baseline
from memory_pipeline.phase2.findings import RUN, Finding, Rule
from memory_pipeline.phase2.lint_files import files_below, lint_files, lint_modes
from memory_pipeline.phase2.lint_memories import lint_memories
from memory_pipeline.store.store import Store

#: What of the state folder holds words, beside the workspace.
_STATE_FOLDERS = ("baseline", "staging", "replaced")
_STATE_FILES = ("memory.db", "memory.db-wal", "memory.db-shm", JOURNAL_FILE)


def lint(config: Config, store: Store) -> list[Finding]:
    """Return everything that is wrong, by rule in their order, then by place. Empty: all is well.

    While a run writes the workspace, what it has not written yet shows as a finding.
    """
    memories = store.memories.every()
    entries = store.extractions.standing_entries(sorted({e for m in memories for e in m.entry_ids}))
    state, workspace = config.state_path, config.workspace_path
    baseline = read_baseline(state / "baseline")
    found = [
        *lint_memories(memories, entries),
        *lint_files(workspace, baseline, memories, summary_max_bytes=config.phase2.summary_max_bytes),
    ]
    if not baseline.exists and (state / "baseline").exists():
        problem = "can't be read"
        advice = f"{RUN}, which publishes everything anew"
        found.append(Finding(rule=Rule.BAD_BASELINE, place="baseline", problem=problem, advice=advice))
    kept = [path for folder in _STATE_FOLDERS for path in files_below(state / folder)]
    published = [workspace / path for path in baseline.hashes]
    found += lint_modes([*published, *kept, *(state / name for name in _STATE_FILES)])
    last = store.memories.last_consolidation()
    if last is not None and last.state == "publishing":
        problem = "committed its operations, but was not published: a run was cut off, or is under way"
        place = f"consolidation {last.consolidation_id}"
        found.append(Finding(rule=Rule.UNPUBLISHED, place=place, problem=problem, advice=f"{RUN}, which finishes it"))
    order = list(Rule)
    return sorted(found, key=lambda finding: (order.index(finding.rule), finding.place, finding.problem))
