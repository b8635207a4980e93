"""The workspace's input files: raw memories, and one summary a thread. Same selection, same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from memory_pipeline.clock import iso
from memory_pipeline.records import SelectedThread
from memory_pipeline.redact import redact
from memory_pipeline.statements import one_line

RAW_MEMORIES = "raw_memories.md"
SUMMARIES_FOLDER = "rollout_summaries"
MEMORY_FILE = "MEMORY.md"
SUMMARY_FILE = "memory_summary.md"

_PATH_CHARS = 1_000
_ID_CHARS = 200


def lay_out(selection: Sequence[SelectedThread], cited: Sequence[SelectedThread]) -> dict[str, bytes]:
    """Write the input files: raw memories of the ``selection``, summaries of it and of what the memories rest on."""
    threads = {item.thread.thread_id: item for item in (*selection, *cited)}
    files = {RAW_MEMORIES: _raw_memories(sorted(selection, key=lambda item: item.thread.thread_id))}
    for thread_id in sorted(threads):
        files[summary_path(threads[thread_id])] = _summary(threads[thread_id])
    return files


def summary_path(item: SelectedThread) -> str:
    """Return the summary's path in the workspace: ``rollout_summaries/<thread time>-<4 chars>-<slug>.md``."""
    started = item.thread.started_at if item.thread.started_at is not None else item.thread.updated_at
    moment = (iso(started) or "")[:19].replace(":", "-")
    digest = hashlib.sha256(item.thread.thread_id.encode()).digest()
    letters = "".join("abcdefghijklmnopqrstuvwxyz234567"[byte % 32] for byte in digest[:4])
    return f"{SUMMARIES_FOLDER}/{moment}-{letters}-{item.extraction.slug}.md"


def _raw_memories(selection: Sequence[SelectedThread]) -> bytes:
    parts = [
        f"\n## Thread `{one_line(item.thread.thread_id, _ID_CHARS)}`\n"
        f"updated_at: {iso(item.extraction.source_updated_at)}\n"
        f"cwd: {_path(item.thread.cwd)}\n"
        f"rollout_path: {_path(item.thread.rollout_path)}\n"
        f"rollout_summary_file: {summary_path(item)}\n"
        f"\n{item.extraction.raw_memory}\n"
        for item in selection
    ]
    return "".join(["# Raw Memories\n", *parts]).encode()


def _summary(item: SelectedThread) -> bytes:
    return (
        f"thread_id: {one_line(item.thread.thread_id, _ID_CHARS)}\n"
        f"updated_at: {iso(item.extraction.source_updated_at)}\n"
        f"rollout_path: {_path(item.thread.rollout_path)}\n"
        f"cwd: {_path(item.thread.cwd)}\n"
        f"git_branch: {one_line(item.thread.git_branch or '', 200)}\n"
        f"\n{item.extraction.rollout_summary}\n"
    ).encode()


def _path(path: str | None) -> str:
    return one_line(redact(path or "").text, _PATH_CHARS)
