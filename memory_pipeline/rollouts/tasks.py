"""A submitted task read like a rollout: the goal is what a person wanted, the result what a program gave back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from memory_pipeline.errors import RolloutError, VanishedError
from memory_pipeline.records import Event, EventKind, RolloutFile, Speaker, SubmittedTask, TaskLine, ToolStatus
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import RolloutReading
from memory_pipeline.rollouts.task_lines import decode_task, read_tasks


class TaskReading(RolloutReading):
    """The events of one task: what was wanted, and what came of it."""

    def __init__(self, file: RolloutFile, *, own: OwnPart | None = None) -> None:
        super().__init__(file, "", max_bytes=0, own=own)
        self._line: TaskLine | None = None

    def __iter__(self) -> Iterator[Event]:
        line = self._find()
        task = line.task
        self.total_lines = self.understood_lines = 1
        yield _event(line, EventKind.PROMPT, Speaker.USER, task.goal, task.started_at)
        if task.result.strip():
            yield _event(line, EventKind.TOOL_RESULT, Speaker.TOOL, task.result, task.finished_at)

    def hash_lines(self, ranges: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], str]:
        """Give the SHA-256 of the task's line, by its place.

        Raises:
            RolloutError: the journal no longer holds it.
        """
        line = self._find()
        place = (line.byte_start, line.byte_end)
        if set(ranges) - {place}:
            raise RolloutError(f"{self._file.path}: it was changed while it was read; the next run reads it again")
        return {place: line.line_sha256}

    def task(self) -> SubmittedTask:
        """Return the task itself.

        Raises:
            RolloutError: the journal no longer holds it.
        """
        return self._find().task

    def _find(self) -> TaskLine:
        if self._line is None:
            self._line = self._at_its_place() or self._anywhere()
        return self._line

    def _at_its_place(self) -> TaskLine | None:
        start, size = self._own.own_from_byte, self._file.size
        try:
            with open(self._file.path, "rb", opener=_without_following) as stream:
                stream.seek(start)
                raw = stream.read(size + 1)
        except FileNotFoundError as error:
            raise VanishedError(f"{self._file.path}: the journal is gone") from error
        except OSError as error:
            raise RolloutError(f"{self._file.path}: can't be read: {error.strerror or error}") from error
        raw = raw.removesuffix(b"\n")
        task = decode_task(raw) if len(raw) == size else None
        if task is None or task.thread_id != self._file.thread_id:
            return None
        sha256 = hashlib.sha256(raw).hexdigest()
        return TaskLine(task=task, byte_start=start, byte_end=start + size, line_sha256=sha256)

    def _anywhere(self) -> TaskLine:
        for line in read_tasks(Path(self._file.path)):
            if line.task.thread_id == self._file.thread_id:
                return line
        raise RolloutError(f"{self._file.path}: the journal no longer holds this task")


def _event(line: TaskLine, kind: EventKind, speaker: Speaker, text: str, at: float | None) -> Event:
    return Event(
        kind=kind,
        speaker=speaker,
        text=text,
        at=at,
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        line_number=1,
        turn=1,
        status=ToolStatus.OK if kind is EventKind.TOOL_RESULT else None,
        external=line.task.is_external and kind is EventKind.TOOL_RESULT,
    )


def _without_following(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
