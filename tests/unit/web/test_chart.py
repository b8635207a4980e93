"""The chart of what was learnt and used."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.store.activity import Day
from memory_pipeline.web.pages.chart import HEIGHT, WIDTH, chart_of

COUNT = st.integers(0, 10**9)


@given(st.lists(st.tuples(COUNT, COUNT, COUNT), min_size=1, max_size=60))
@settings(max_examples=100)
def test_every_count_is_a_bar_that_stands_in_its_picture(counts: list[tuple[int, int, int]]) -> None:
    """One bar a day on which something happened, none over another or out of the picture, the highest for the most."""
    days = [
        Day(date=f"day {number}", learnt=learnt, given=told, cited=cited)
        for number, (learnt, told, cited) in enumerate(counts)
    ]
    chart = chart_of(days)
    assert [row.total for row in chart.rows] == [sum(column) for column in zip(*counts, strict=True)]
    for row, column in zip(chart.rows, zip(*counts, strict=True), strict=True):
        assert [bar.told for bar in row.bars] == [f"day {at}: {count:,}" for at, count in enumerate(column) if count]
        assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in row.bars)
        assert all(bar.y >= 0 and bar.height > 0 and abs(bar.y + bar.height - HEIGHT) < 0.2 for bar in row.bars)
        assert all(one.x + one.width <= other.x for one, other in zip(row.bars, row.bars[1:], strict=False))
        assert max((bar.height for bar in row.bars), default=HEIGHT) == HEIGHT
    assert len(chart.days) == sum(any(one) for one in counts)
