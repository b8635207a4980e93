"""Prompt templates: checked when loaded, filled once, documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.llm.templates import load_template
from memory_pipeline.records import EntryKind, TaskOutcome
from memory_pipeline.resources import bundled_path
from memory_pipeline.statements import STATEMENT_MAX_CHARS


def written(folder: Path, text: str) -> Path:
    """Put a template called sample into ``folder``, and return the folder."""
    (folder / "sample.md").write_text(text, encoding="utf-8")
    return folder


def test_every_variable_is_replaced_and_values_are_left_as_they_are(tmp_path: Path) -> None:
    """A value that looks like a variable is not filled in turn."""
    folder = written(tmp_path, "Dear {{name}}, {{name}}: {{text}}")
    template = load_template("sample", {"name", "text"}, folder=folder)
    assert template.fill(name="{{text}}", text=r"\1 {x}") == r"Dear {{text}}, {{text}}: \1 {x}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{{name}} {{nmae}}", r"sample\.md: unknown variable \{\{nmae\}\}"),
        ("no variable", r"sample\.md: the variable \{\{name\}\} is missing"),
        ("{{name}}\n{{ Name }}", r"sample\.md, line 2: \{\{ is no variable"),
        ("{{name}}\n\n}}", r"sample\.md, line 3: \}\} is no variable"),
    ],
)
def test_a_wrong_template_is_refused_by_file_and_variable(tmp_path: Path, text: str, complaint: str) -> None:
    """A slip in a template shows when it is loaded, and says where."""
    with pytest.raises(MemoryPipelineError, match=complaint):
        load_template("sample", {"name"}, folder=written(tmp_path, text))


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    """The message names the file that isn't there."""
    with pytest.raises(MemoryPipelineError, match=r"absent\.md: the prompt template can't be read"):
        load_template("absent", folder=tmp_path)


def test_a_template_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    """Bytes that are no text are told by file and place."""
    (tmp_path / "sample.md").write_bytes(b"ab\xff")
    with pytest.raises(MemoryPipelineError, match=r"sample\.md: .*not UTF-8 at byte 2"):
        load_template("sample", folder=tmp_path)


@pytest.mark.parametrize(("values", "name"), [({}, "name"), ({"name": "a", "more": "b"}, "more")])
def test_filling_needs_exactly_the_variables(tmp_path: Path, values: dict[str, str], name: str) -> None:
    """A forgotten or mistyped value is an error, not a gap in a prompt."""
    template = load_template("sample", {"name"}, folder=written(tmp_path, "{{name}}"))
    with pytest.raises(MemoryPipelineError, match=name):
        template.fill(**values)


def test_the_bundled_templates_say_what_the_code_knows() -> None:
    """The prompt names every kind and outcome of the schema, and the rule of length that entries are held to."""
    text = load_template("extract_system").text
    for word in [*EntryKind, *TaskOutcome, "user", "project"]:
        assert f"`{word}`" in text
    assert f"at most {STATEMENT_MAX_CHARS} characters" in text


def test_every_variable_of_a_bundled_template_is_documented() -> None:
    """prompts/README.md names each template and each of its variables, and no others."""
    folder = bundled_path("prompts")
    guide = (folder / "README.md").read_text(encoding="utf-8")
    templates = [path for path in folder.glob("*.md") if path.name != "README.md"]
    used = {mark for path in templates for mark in re.findall(r"\{\{\w+\}\}", path.read_text(encoding="utf-8"))}
    assert templates
    assert all(f"`{path.name}`" in guide for path in templates)
    assert set(re.findall(r"\{\{\w+\}\}", guide)) - {"{{name}}"} == used
