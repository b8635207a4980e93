"""How pages are written: whatever stands in a memory or a log is shown as text, and every character of it is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from memory_pipeline.redact import redact
from memory_pipeline.review.difference import Part
from memory_pipeline.visible import visible

#: No text is shown longer: nobody reads it, and some browsers stand still over it.
MOST_SHOWN_CHARS = 2_000
#: Masking looks at so much of a text: past what is shown, so that no secret is halved.
_MASKED_CHARS = 20_000


class Renderer:
    """Renders the templates."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("memory_pipeline.web.pages", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_finally,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(
            exact=exact, moment=moment, words=words, counted=counted, plural=plural, marked=marked, number=number
        )
        self._environment.globals.update(link=link)

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a page as HTML."""
        return self._environment.get_template(f"{template}.html").render(values)


def shown(text: str) -> str:
    """Return a text for the eye: secrets masked, cut where it is endless, hidden characters written out."""
    masked = redact(text[:_MASKED_CHARS]).text
    if len(masked) <= MOST_SHOWN_CHARS and len(text) <= _MASKED_CHARS:
        return visible(masked)
    return f"{visible(masked[:MOST_SHOWN_CHARS])}… [cut: {len(text):,} characters in all]"


def exact(value: object) -> Markup:
    """Write a value as it is: for what a form sends back, and for names that were made here."""
    return escape(str(value).replace("\0", ""))


def link(path: str, *parts: str, **query: object) -> Markup:
    """Write the address of a page of ours; ``parts`` follow ``path``, each as one part."""
    address = "/".join((path, *(quote(part, safe="") for part in parts)))
    filled = {name: str(value) for name, value in query.items() if value not in ("", None)}
    return escape(f"{address}?{urlencode(filled)}" if filled else address)


def moment(text: str | float | None) -> Markup:
    """Write a moment to the minute, in UTC."""
    if text is None:
        return Markup("never")
    at = datetime.fromtimestamp(text, UTC) if isinstance(text, float) else datetime.fromisoformat(text)
    exactly = at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Markup('<time datetime="{}">{}</time>').format(exactly, f"{exactly[:10]} {exactly[11:16]} UTC")


def words(name: str | None) -> str:
    """Write a name of ours as words."""
    return (name or "").replace("_", " ").replace("-", " ")


def counted(counts: Mapping[str, int]) -> str:
    """Write counts as one line."""
    return ", ".join(f"{count:,} {words(name)}" for name, count in counts.items() if count)


def plural(count: int, one: str, many: str | None = None) -> str:
    """Write a number and what it counts."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def number(value: float | str | None) -> str:
    """Write a number as a person types it; a text stays, and None is none."""
    return "" if value is None else value if isinstance(value, str) else f"{value:.10g}"


def marked(parts: Sequence[Part], tag: str) -> Markup:
    """Write a text of which what the other one has not is marked, for eyes and for screen readers."""
    around = Markup(f"<{tag}>{{}}</{tag}>")  # noqa: S704 - the tag is ours
    return Markup("").join(around.format(one.text) if one.is_alone else escape(one.text) for one in parts)


def _finally(value: Any) -> Any:
    """Treat what an expression of a template gives: only what was made as HTML here is HTML."""
    if isinstance(value, Markup):
        return value
    return shown(str(value)) if isinstance(value, str) else value
