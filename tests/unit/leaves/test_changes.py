"""What people announce to have changed contradicts what they said before, in whatever words."""

from __future__ import annotations

import pytest
from msgspec import Struct

from memory_pipeline.changes import Change, change_in
from memory_pipeline.contradiction import contradict_in_place
from memory_pipeline.likeness import choose_otherwise, contradicts
from memory_pipeline.nearness import StatementIndex
from memory_pipeline.records import EntryKind

REPLACED = """
use npm | we moved to pnpm
use npm | npm is out, pnpm is in
we use poetry here | scrap what I said about poetry, it's uv
we use poetry here | forget poetry, uv from here on
the team is on kafka | we said farewell to kafka, nats took its place
the team is on kafka | kafka got kicked out in favour of nats
the team is on kafka | we got rid of kafka and run nats now
everything here is built around redux | redux was thrown out, we're on zustand
in future reach for tox first | we switched from tox to nox
mind using jest whenever possible | we replaced jest with vitest
the page takes ten seconds, and btw this one uses mobx | mobx is gone, we use jotai now
always use npm | the app never starts on windows - correction: bun, not npm
decision: httpx for the http client | httpx is history, it's aiohttp now
用 npm 装依赖 | 不用 npm 了，改用 pnpm
用 npm 装依赖 | npm 换成 pnpm 了
数据库是 mysql | mysql 退役了，现在是 postgres
我们用 kafka | 把 kafka 淘汰掉了，换上了 nats
接口返回 500，另外我们用 uv | 已经从 uv 换成 poetry 了
the api listens on port 8080 | the api moved from 8080 to 9090
the api listens on port 8080 | the api listens on 9090 now, not 8080
the api listens on port 8080 | the api now runs on port 9090
we use node 18 | we upgraded from node 18 to node 20
we use node 18 | we're on node 20 now
we target python 3.9 | we target python 3.11 now
the default branch is master | the default branch is trunk now
the default branch is master | the default branch is now trunk instead of master
release from the branch main | release from the branch stable now, no longer from main
deploys run on tuesdays | deploys run on thursdays now
backups run at 02:00 | backups run at 04:30 from now on
keep functions under 50 lines | raise the limit for functions from 50 to 80 lines
lines are at most 80 characters | the line limit went from 80 to 100 characters
logs go to /var/log/app | logs moved from /var/log/app to /srv/log/app
the uploads limit is 10 MB | the uploads limit was raised from 10 to 25 MB
开发端口是 8080 | 开发端口改成 9090 了
开发端口是 8080 | 开发端口从 8080 改成 9090
默认分支是 master | 默认分支改为 trunk
上传上限是 10MB | 上传上限从 10MB 提到 25MB
超时时间是 30 秒 | 超时时间改成 60 秒
node 版本是 18 | node 版本从 18 升到 20
the api listens on port 8080 | port 8080 is outdated, the api is on 9090 now
the api listens on port 8080 | correction: the api listens on 9090, not 8080
the api listens on port 8080 | api: 8080 -> 9090
logs go to /var/log/app | forget /var/log/app, logs are under /srv/log/app
keep functions under 40 lines | functions may have 60 lines now, not 40
retry three times | retry five times, not three
we use node 18 | node 18 is gone, node 20 now
python 3.11 is what we target | we target python 3.12 now
Dana owns the billing module | Kim owns the billing module now
Dana reviews the migrations | Kim reviews the migrations now, not Dana
ask Dana before changing the schema | ask Kim instead of Dana before changing the schema
迁移脚本由小王审核 | 迁移脚本改由小李审核
answer in English | no more English, answer in German
answer in English | 以后用中文回答
always squash before merging | no squashing any more
run make lint before each commit | no need to run make lint before each commit any more
"""
STANDING = """
use npm | use poetry for python
use npm in the legacy folder | we moved to pnpm
on windows, use npm | we moved to pnpm
use pytest for unit tests | we moved from jest to vitest
keep functions between 50 and 80 lines | the api moved from 8080 to 9090
the web app listens on port 8080 | the api moved from 8080 to 9090
the timeout in tests is 5 seconds | the timeout went from 5 to 10 seconds
office hours are from 9 to 17 | standups are at 9
logs go to /var/log/app | backups moved from /var/log/app to /srv/backups
keep functions under 50 lines | the page size went from 50 to 80 rows
the worker retries 3 times | the api retries 5 times
we use kafka for events | kafka topics are named after the team
we use node 18 | the docker image moved from alpine 18 to alpine 20
we use node 18 | we use python 3.11
prefer composition over inheritance | the team took over the billing service
我们用 kafka | kafka 的主题按团队命名
测试里用 sqlite | 生产数据库从 mysql 换成 postgres
前端端口是 8080 | 后端端口从 8080 改成 9090
上传上限是 10MB | 下载上限从 10MB 提到 25MB
the api listens on port 8080 | port 8080 is taken
the api listens on port 8080 | should the api move from 8080 to 9090
the api listens on port 8080 | if it is taken the api moves from 8080 to 9090
the order status is open first | order 453/493 is closed now
use dark mode in the app | switched my editor to dark mode
retry three times | retry the upload five times, not three
Dana reviews the migrations | Kim reviews the frontend now
Dana reviews the migrations | Dana is on holiday
answer in English | just this once answer in German
squash before merging | no squashing in the docs any more
we release every Tuesday | this time we release on Thursday
每周二发布 | 这次周四发布
"""


def pairs(block: str) -> list[tuple[str, str]]:
    """The two statements of each line."""
    return [(old, new) for line in block.strip().splitlines() for old, _, new in [line.partition(" | ")]]


class Told(Struct, frozen=True, kw_only=True):
    """A statement under a condition."""

    statement: str
    condition: str = ""
    kind: EntryKind | None = EntryKind.PREFERENCE


@pytest.mark.parametrize(("old", "new"), pairs(REPLACED))
def test_what_changed_contradicts_what_was_said_before(old: str, new: str) -> None:
    """Either way round, and an index of words brings the two together."""
    assert contradicts(old, new)
    assert contradicts(new, old)
    index = StatementIndex()
    index.put("old", "user", old)
    assert index.near("user", new) == ["old"]


@pytest.mark.parametrize(("old", "new"), pairs(STANDING))
def test_a_change_of_one_thing_leaves_another_standing(old: str, new: str) -> None:
    """Another thing with the same value, another place, or a mere range of values."""
    assert not contradicts(old, new)
    assert not contradicts(new, old)


@pytest.mark.parametrize(
    ("text", "left", "entered"),
    [
        ("the cache moved from 6379 to 6380", "6379", "6380"),
        ("we bumped the timeout from 5s to 30s", "5s", "30s"),
        ("exports were relocated from /tmp/out to /srv/out.", "/tmp/out", "/srv/out"),
        ("重试次数从 3 改成 5 了", "3", "5"),
        ("版本由 1.2 升到 1.3", "1.2", "1.3"),
    ],
)
def test_an_announced_change_names_what_left_and_what_came(text: str, left: str, entered: str) -> None:
    """Numbers, versions and paths, in English and Chinese; without the mark that ends a sentence."""
    change = change_in(text)
    assert change is not None
    assert (change.left, change.entered) == (left, entered)


@pytest.mark.parametrize(
    "text", ["the office is open from 9 to 17", "keep it from 3 to 5 lines", "从 3 到 5 都行", "moved on"]
)
def test_a_range_of_values_is_no_change(text: str) -> None:
    """Nothing moved from one to the other."""
    assert change_in(text) is None


def test_what_is_about_the_change_leaves_out_the_words_of_any_change() -> None:
    """What is left says what it is that changed."""
    change = change_in("the api moved from 8080 to 9090")
    assert change == Change(left="8080", entered="9090", about=change.about if change else "")
    assert change.about.split() == ["api"]


@pytest.mark.parametrize(
    ("old", "condition", "new", "contradicted"),
    [
        (
            "go for uv when you need something like conda",
            "when you need something like conda",
            "uv is out, it's conda now",
            True,
        ),
        ("mind using tox whenever possible", "whenever possible", "we moved from tox to nox", True),
        ("use tox when releasing to pypi", "when releasing to pypi", "we moved from tox to nox", False),
        ("use tox", "in the legacy folder", "we moved from tox to nox", False),
    ],
)
def test_a_condition_that_limits_nothing_does_not_save_a_choice(
    old: str, condition: str, new: str, *, contradicted: bool
) -> None:
    """A rival tool, or "whenever possible", is no circumstance; a place or an occasion is."""
    assert contradict_in_place(Told(statement=old, condition=condition), Told(statement=new)) is contradicted


def test_tools_of_different_uses_are_no_other_choice() -> None:
    """Nor is the same choice in other words."""
    assert not choose_otherwise("we use kafka", "we moved to postgres")
    assert not choose_otherwise("we use kafka", "kafka it is")
    assert choose_otherwise("we use kafka", "nats it is")
