"""What is stored, read when it is first asked for: a consolidation costs what changed, not what there is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from memory_pipeline.records import Entry, Memory
from memory_pipeline.store.extractions import Extractions
from memory_pipeline.store.memories import Memories


class KnownMemories(Mapping[str, Memory]):
    """The stored memories by id. Asking for all of them reads all of them."""

    def __init__(self, memories: Memories) -> None:
        self._stored = memories
        self._read: dict[str, Memory | None] = {}
        self._every: dict[str, Memory] | None = None

    def __getitem__(self, memory_id: str) -> Memory:
        self.read([memory_id])
        memory = self._read[memory_id]
        if memory is None:
            raise KeyError(memory_id)
        return memory

    def __iter__(self) -> Iterator[str]:
        if self._every is None:
            # What was read before stays as it was: all that was judged by it must fit together.
            read = {name: memory for name, memory in self._read.items() if memory is not None}
            self._every = {memory.memory_id: memory for memory in self._stored.every()} | read
            self._read = dict(self._every)
        return iter(self._every)

    def __len__(self) -> int:
        return self._stored.count() if self._every is None else len(self._every)

    def read(self, memory_ids: Iterable[str]) -> None:
        """Read those of these memories that were not read yet: many at once cost little more than one."""
        missing = [name for name in dict.fromkeys(memory_ids) if name not in self._read]
        if missing and self._every is None:
            found = self._stored.get_many(missing)
            self._read.update((name, found.get(name)) for name in missing)
        else:
            self._read.update(dict.fromkeys(missing))


class KnownEntries(Mapping[str, Entry]):
    """The entries that stand, by id, and such as are given. Only those that were read are listed."""

    def __init__(self, extractions: Extractions, given: Iterable[Entry] = ()) -> None:
        self._stored = extractions
        self._read: dict[str, Entry | None] = {entry.entry_id: entry for entry in given}

    def __getitem__(self, entry_id: str) -> Entry:
        self.read([entry_id])
        entry = self._read[entry_id]
        if entry is None:
            raise KeyError(entry_id)
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, entry in self._read.items() if entry is not None])

    def __len__(self) -> int:
        return sum(entry is not None for entry in self._read.values())

    def read(self, entry_ids: Sequence[str]) -> None:
        """Read those of these entries that were not read yet."""
        missing = [name for name in dict.fromkeys(entry_ids) if name not in self._read]
        if missing:
            found = self._stored.standing_entries(missing)
            self._read.update((name, found.get(name)) for name in missing)


class StoredArchive:
    """What of the store a consolidation must look at; see curators.rules.Archive."""

    def __init__(self, memories: Memories, *, judges: bool = True) -> None:
        """With ``judges`` false, nothing is judged, and what is marked stays so."""
        self._stored = memories
        # Asked first of all: what changes from now on is left to the next consolidation.
        self.judged = memories.to_judge() if judges else None

    def to_judge(self) -> frozenset[str]:
        """Return the ids of the memories that changed, or whose evidence did, since they were last judged."""
        return self.judged.memory_ids if self.judged is not None else frozenset()

    def former_threads(self, memory_ids: Collection[str]) -> Mapping[str, frozenset[str]]:
        """Return, by memory, the threads of all entries that it ever rested on, withdrawn ones included."""
        return self._stored.former_threads(memory_ids)

    def results_in(self, scope: str) -> Collection[str]:
        """Return the ids of the memories of a scope that rest on submitted tasks."""
        return self._stored.results_in(scope)

    def unused_since(self, since: float) -> Collection[str]:
        """Return the ids of what is told, is no kind that a person states, and nothing used or confirmed since."""
        return self._stored.unused_since(since)


class Overlaid(Mapping[str, Memory]):
    """Memories by id, over which changed and new ones are laid."""

    def __init__(self, below: Mapping[str, Memory]) -> None:
        self._below = below
        self._above: dict[str, Memory] = {}

    def __getitem__(self, memory_id: str) -> Memory:
        memory = self._above.get(memory_id)
        return self._below[memory_id] if memory is None else memory

    def __iter__(self) -> Iterator[str]:
        yield from self._below
        yield from [name for name in self._above if name not in self._below]

    def __len__(self) -> int:
        return len(self._below) + sum(name not in self._below for name in self._above)

    @property
    def laid_over(self) -> Mapping[str, Memory]:
        """What was put, in the order in which each was first put."""
        return self._above

    def put(self, memory: Memory) -> None:
        """Lay a memory over the one of its id."""
        self._above[memory.memory_id] = memory

    def several(self, memory_ids: Iterable[str]) -> list[Memory]:
        """Return those of these memories that there are, read at once."""
        wanted = list(memory_ids)
        if isinstance(self._below, KnownMemories):
            self._below.read(name for name in wanted if name not in self._above)
        return [self[name] for name in wanted if name in self]
