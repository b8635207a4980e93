"""The chart of what was learnt and used: bars as SVG, and the same as a table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memory_pipeline.store.activity import Day

WIDTH = 600
HEIGHT = 64
_GAP = 3
_LEAST = 2  # a bar of one stays visible beside one of a thousand


class Bar(Struct, frozen=True, kw_only=True):
    """One day of a row, in the units of the drawing."""

    x: float
    y: float
    width: float
    height: float
    told: str


class Row(Struct, frozen=True, kw_only=True):
    """One kind of thing that was counted."""

    name: str
    total: int
    most: int  # in one day
    bars: Sequence[Bar]


class Chart(Struct, frozen=True, kw_only=True):
    """All rows, and the days on which anything happened, the newest first."""

    first: str
    last: str
    rows: Sequence[Row]
    days: Sequence[Day]


def chart_of(days: Sequence[Day]) -> Chart:
    """Lay out the chart of some days, the oldest first; there must be one."""
    counted = (
        ("Memories learnt", [day.learnt for day in days]),
        ("Tasks given memories", [day.given for day in days]),
        ("Answers that cited them", [day.cited for day in days]),
    )
    return Chart(
        first=days[0].date,
        last=days[-1].date,
        rows=[_row(name, days, counts) for name, counts in counted],
        days=[day for day in reversed(days) if day.learnt or day.given or day.cited],
    )


def _row(name: str, days: Sequence[Day], counts: Sequence[int]) -> Row:
    step = WIDTH / len(days)
    most = max(counts)
    bars = []
    for number, (day, count) in enumerate(zip(days, counts, strict=True)):
        if count:
            height = max(_LEAST, HEIGHT * count / most)
            bars.append(
                Bar(
                    x=round(number * step, 1),
                    y=round(HEIGHT - height, 1),
                    width=round(step - _GAP, 1),
                    height=round(height, 1),
                    told=f"{day.date}: {count:,}",
                )
            )
    return Row(name=name, total=sum(counts), most=most, bars=bars)
