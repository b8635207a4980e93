"""Prompt templates: Markdown files with ``{{name}}`` variables, checked when they are loaded."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.resources import bundled_path

_VARIABLE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")


class Template(Struct, frozen=True, kw_only=True):
    """One prompt template: its text, and the variables that stand in it."""

    path: Path
    text: str
    variables: frozenset[str]

    def fill(self, **values: str) -> str:
        """Return the text with every variable replaced by its value; a value is never searched for variables.

        Raises:
            MemoryPipelineError: a value is missing, or one is given that the template doesn't have.
        """
        _check_names(self.path, wanted=self.variables, given=frozenset(values))
        return _VARIABLE.sub(lambda match: values[match.group(1)], self.text)


def load_template(name: str, variables: Collection[str] = (), *, folder: Path | None = None) -> Template:
    """Read the template ``<name>.md`` of ``folder`` (None: the bundled prompts), which has exactly ``variables``.

    Raises:
        MemoryPipelineError: the file can't be read, a brace pair is no variable, or a variable is unknown or
            missing; the message names the file and the variable.
    """
    path = (folder or bundled_path("prompts")) / f"{name}.md"
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryPipelineError(f"{path}: the prompt template can't be read: {_reason(error)}") from error
    _refuse_stray_braces(path, text)
    found = frozenset(_VARIABLE.findall(text))
    _check_names(path, wanted=frozenset(variables), given=found)
    return Template(path=path, text=text, variables=found)


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else f"not UTF-8 at byte {error.start}"


def _refuse_stray_braces(path: Path, text: str) -> None:
    rest = _VARIABLE.sub(lambda match: " " * len(match.group()), text)
    for mark in ("{{", "}}"):
        if mark in rest:
            line = rest.count("\n", 0, rest.index(mark)) + 1
            raise MemoryPipelineError(
                f"{path}, line {line}: {mark} is no variable; write {{{{name}}}} in small letters"
            )


def _check_names(path: Path, *, wanted: frozenset[str], given: frozenset[str]) -> None:
    for name in sorted(given - wanted):
        raise MemoryPipelineError(
            f"{path}: unknown variable {{{{{name}}}}}; known: {', '.join(sorted(wanted)) or 'none'}"
        )
    for name in sorted(wanted - given):
        raise MemoryPipelineError(f"{path}: the variable {{{{{name}}}}} is missing")
