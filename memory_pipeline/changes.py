"""What a statement says has changed: one value that left, the one that came in its place, and what they are values of.

"The api moved from 8080 to 9090" tells of an older statement without its words. People announce a change by a verb of
moving and both values, in English and Chinese; a mere range ("from 9 to 17", "between 50 and 80 lines") has no such
verb.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct


class Change(Struct, frozen=True, kw_only=True):
    """What left, what came instead, and the words beside them, which say what it is that changed."""

    left: str
    entered: str
    about: str


@lru_cache(maxsize=1 << 12)
def change_in(text: str) -> Change | None:
    """Return the change of one value that a text announces; None where it announces none, or doesn't name both."""
    folded = text.casefold()
    for announced in _ANNOUNCED:
        found = announced.search(folded)
        if found is not None and found["old"] != found["new"]:
            about = f"{folded[: found.start()]} {found['between'] or ''} {folded[found.end() :]}"
            return Change(left=found["old"], entered=found["new"], about=_MEASURES.sub(" ", about))
    return None


#: A number, a version, a time, a path: what a rewording would have kept as it is.
_VALUE = r"(?:[~\w.:@-]*/[\w./:@-]*[\w/]|v?\d[\w.:%-]*(?<![.:]))"
_ANNOUNCED = tuple(
    re.compile(form.format(old=rf"(?P<old>{_VALUE})", new=rf"(?P<new>{_VALUE})"))
    for form in (
        (
            r"\b(?:moved?|moving|switche?d?|change[ds]?|changing|raised?|lower(?:ed)?|went|bump(?:ed)?|migrated?|upgraded?"
            r"|downgraded?|renamed?|increased?|reduced?|cut|extended?|shorten(?:ed)?|relocated?|grew|grown|dropped)\b"
            r"(?P<between>[^,;。，]*?) from (?:[a-z]+ )?{old} (?:up |down |over )?to (?:[a-z]+ )?{new}"
        ),
        (
            r"(?P<between>)(?:从|由) ?{old} ?(?:改|换|升|降|移|挪|搬|迁|调|切|提|涨|减)[\u4e00-\u9fff]{{0,3}}"
            r" ?{new}(?: ?了)?"
        ),
    )
)
#: Words that go with any value, or with any change, and don't say what it is the value of.
_MEASURES = re.compile(
    r"\b(?:ports?|versions?|limits?|max(?:imum)?|min(?:imum)?|recently|yesterday|today|was|were|got|has|have|been|the|our"
    r"|we|now|just|actually|as|of|please)\b|版本|现在|刚刚?|已经?|今天|昨天"
)
