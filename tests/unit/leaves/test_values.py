"""A thing that has another value from now on has its older one no longer, though that is not named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.contradiction import contradict_in_place
from memory_pipeline.likeness import contradicts
from memory_pipeline.nearness import StatementIndex
from memory_pipeline.records import EntryKind
from memory_pipeline.values import value_told

REPLACED = """
we release every Tuesday | releases move to Thursday
releases go out on Tuesdays | we moved releases to Thursday
releases go out on Tuesdays | from next week releases ship on Thursdays
deploys happen on Mondays | deploys have been shifted to Wednesday
code freeze is on Thursday | we've moved code freeze to Wednesday
the retro is on Thursday | the retro moves to Friday
the standup is at 9:30 | standup moves to 10:30
the standup starts at 9:30 am | from now on standup is at 10:00 am
the nightly build starts at 02:00 | the nightly build has been moved to 03:30
backups run nightly | backups move to weekly
invoices go out monthly | invoices change to every quarter
invoices are due on the 10th | invoices move to the 15th
the timeout is 30 seconds | the timeout was raised to 2 minutes
the request timeout is 30s | the request timeout goes up to 45 seconds
sessions last 2 hours | sessions last 30 minutes from now on
the upload limit is 10 MB | the limit for uploads went up to 1 GB
the api listens on port 8080 | the api moves to port 9090
pull requests need 1 approvals | pull requests need 2 approvals from now on
the coverage threshold is 80% | the coverage threshold has been raised to 85 percent
releases move to Thursday | releases move to Monday
the sync runs every 5 minutes | the sync moves to every 10 minutes
the report goes out 2 times a day | the report goes out 3 times a day from now on
备份每 6 小时一次 | 备份改为每 12 小时一次
每周二发版 | 发版改到周四
我们一般周二发版 | 发版改到周四了
发版在星期二 | 以后发版在周四
例会在上午十点 | 例会改到下午3点
例会时间是 9 点半 | 例会时间调到十点
备份每天一次 | 备份改成每周一次
发薪日是 10 号 | 发薪日改到 15 号
超时是 30 秒 | 超时延长到 2 分钟
超时是三十秒 | 超时调到 60 秒
重试次数是 3 次 | 重试次数提高到五次
日志保留 7 天 | 日志保留改为 30 天
"""
STANDING = """
we release every Tuesday | releases move to Thursday this week
we release every Tuesday | the release moves to Thursday
we release every Tuesday | mobile releases move to Thursday
mobile releases go out on Tuesdays | releases move to Thursday
we release every Tuesday | releases move to next Thursday
we release every Tuesday | releases can move to Thursday
we release every Tuesday | if the build is red, releases move to Thursday
we release every Tuesday | should releases move to Thursday?
we release every Tuesday | never move releases to Friday
don't release on Fridays | releases move to Thursday
we release every Tuesday | their releases move to Thursday
we release every Tuesday | releases move to 14:00
we release every Tuesday | Thursday is the day of the retro from now on
we release on Tuesdays and Fridays | releases move to Thursday
we release every Tuesday at 14:00 | releases move to 16:00
we release every Tuesday | releases moved to the new server on Thursday
the standup is at 9:30 | the design sync moves to 10:30
the standup is at 9:30 | standup moves to 09:30
the timeout is 30 seconds | the timeout goes up to 0.5 minutes
the timeout is at most 30 seconds | the timeout was raised to 2 minutes
the timeout in tests is 5 seconds | the timeout was raised to 10 seconds
the timeout is 30 seconds | retries go up to 5 times
the api listens on port 8080 | the worker moves to port 9090
backups before a release run nightly | backups move to weekly
we release every Tuesday | some releases move to Thursday
the api listens on port 8080 | port 8080 is taken
the api listens on port 8080 | port 9090 is taken now
the api listens on port 8080 | for now the api listens on port 9090
the timeout is 30 seconds | they raised the timeout to 60 seconds
the timeout is 30 seconds | we want to raise the timeout to 60 seconds
the timeout is 30 seconds | for this run the timeout goes up to 60 seconds
the timeout is 30 seconds | was the timeout raised to 60 seconds
the timeout is 30 seconds | temporarily raise the timeout to 60 seconds
backups run nightly | backups also move to weekly
backups run every 10 minutes | backups run for 20 minutes from now on
tasks run 3 times | tasks run 5 times a day from now on
releases start on Tuesdays | releases ship on Thursdays from now on
the job starts at 02:00 | the job is due at 06:00 from now on
the cache lives 10 minutes | uploads may take 20 minutes from now on
每周二发版 | 下周发版改到周四
每周二发版 | 这次发版改到周四
每周二发版 | 发版改到下周四
每周二发版 | 明天的发版改到周四
每周二发版 | 移动端发版改到周四
每周二发版 | 发版改到周四吗
每周二发版 | 发版不要改到周四
每周二发版 | 例会改到周四
每周二发版 | 如果有 bug，发版改到周四
例会在上午十点 | 例会改到周五
超时是 30 秒 | 重试改成 5 次
超时是 120 秒 | 超时延长到 2 分钟
"""
#: What looks like a value and is none: "faster", three suggestions, this week's.
WITHOUT_VALUES = """
please type a bit faster
快一点
我有三点建议
发版改到本周四
see you this thursday
releases move to Thursday and the retro to Friday
the release notes are for version 2.30
"""


def pairs(block: str) -> list[tuple[str, str]]:
    """The two statements of each line."""
    return [(one.strip(), other.strip()) for one, other in (line.split("|") for line in block.strip().splitlines())]


class Told:
    """A statement as the review and phase two compare it."""

    def __init__(self, statement: str) -> None:
        self.statement, self.condition, self.kind = statement, "", EntryKind.DECISION


@pytest.mark.parametrize(("older", "newer"), pairs(REPLACED))
def test_a_thing_that_moved_is_no_longer_where_it_was(older: str, newer: str) -> None:
    """Either way round, and an index of statements brings the two together."""
    assert contradict_in_place(Told(older), Told(newer))
    assert contradict_in_place(Told(newer), Told(older))
    index = StatementIndex()
    index.put("older", "user", older)
    assert index.near("user", newer) == ["older"]


@pytest.mark.parametrize(("older", "newer"), pairs(STANDING))
def test_what_is_said_of_another_thing_occasion_or_case_ends_nothing(older: str, newer: str) -> None:
    """Both can hold, or it is not certain that they can't."""
    assert not contradicts(older, newer)
    assert not contradicts(newer, older)


@pytest.mark.parametrize("text", WITHOUT_VALUES.strip().splitlines())
def test_what_only_looks_like_a_value_is_none(text: str) -> None:
    """So nothing is concluded from it."""
    assert value_told(text) is None


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("例会在下午三点半", "time", "15:30"),
        ("standup is at 12 pm", "time", "12:00"),
        ("standup is at noon", "time", "12:00"),
        ("超时是二十五秒", "duration", "25"),
        ("超时是十二分钟", "duration", "720"),
        ("the image has 1.5 GB", "size", "1572864"),
        ("每星期天备份", "weekday", "sunday"),
    ],
)
def test_a_value_is_read_in_its_smallest_unit(text: str, sort: str, value: str) -> None:
    """Two ways to write one value are one value."""
    told = value_told(text)
    assert told is not None
    assert (told.sort, told.value) == (sort, value)


@given(st.text(alphabet="the release moves to Thursday改到周四发版每10:30秒一二十点 ,.?", max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_without_a_fault(text: str) -> None:
    """Whatever its numbers and signs; and no statement contradicts itself."""
    value_told(text)
    assert not contradicts(text, text)
