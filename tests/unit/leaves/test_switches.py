"""However a person announces that one tool took the place of another, what stated the old one gives way."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.likeness import contradicts
from memory_pipeline.rivals import FAMILY_OF, ONE_OF
from memory_pipeline.switches import announces_change, switch_in

#: Old is tox, new is nox.
BOTH_NAMED = """
I told you tox, that's outdated, nox now
we've moved off tox. nox is what you should use
s/tox/nox
s/tox/nox/g in all I said
tox => nox
old: tox, new: nox
scratch that, nox instead of tox
tox is gone, nox replaced it
correction to earlier: nox rather than tox
nox now, not tox
please don't go pulling in tox any more, nox covers it
read nox wherever I said tox
I know the readme still mentions tox, but since the rewrite nox is what we use
after a long discussion we decided to part with tox, and everything has been converted to nox
ops took tox off our machines last week, so the whole project has been on nox since then
tox is dead, long live nox
之前说的 tox 作废，以后用 nox
tox 已经换成 nox 了
别再用 tox，改用 nox 了
关于 tox 的说法作废，以 nox 为准
重构之后 nox 代替了 tox
我们 switch 到 nox 了，tox 已经 drop 掉了
had tox in mind, it's actually nox
I thought of tox, the correct one is nox
I have said tox earlier, it's nox
the tox servers are gone, everything's on nox
the tox boxes were retired last month, nox now
all tox hosts have been decommissioned, everything is now on nox
之前写的 tox 有误，应为 nox
tox 有误，用 nox
actually it's nox, not tox
在这个项目里 tox 已經移除，換成 nox
現在改用 nox 了，不再用 tox
我們已經從 tox 遷到 nox
之前說的 tox 作廢，以後用 nox
tox was changed for nox by our company
"""
OTHERS = """
I only want to see it run - forget tox, we went over to nox
this project has moved over to nox
as of last sprint it's nox that we use
new default as of monday: nox
the migration to nox is complete
项目已经迁到 nox 了
从今天起统一用 nox
现在都用 nox 了
"""
OLD_ALONE = """
no more tox
tox has been retired
stop using tox
I take back what I said about tox
tox 作废了
别再用 tox
"""
STATED = """
use tox
always use tox to run the checks
the thing is, we've got tox set up everywhere and I'd like to keep it that way
invoke gave us trouble in production, that's why it's tox
in production invoke was too slow, hence we use tox
before I forget: tox is our standard
while others like invoke, we use tox
if you wonder about the tool, it's tox
tox everywhere except in the legacy folder
we use tox in thsi repo, not invoke
线上和测试环境都用 tox，谁也别碰 invoke
invoke 在线上出过问题，所以我们用 tox
以后都用 tox
我們公司一直用 tox
這個專案裝的是 tox，別用 invoke
for consistency everyone here works with tox
for compliance reasons we're on tox
in the planning last week we picked tox
we've been on tox for two years, and it does its job
I chose tox back in october
our lead decided in yesterday's call: tox
this package is checked with tox, nox kept crashing
tox. nox didn't work on our runners
we went for tox, nox has too many problems
tox in all environments
tox company-wide
for the task runner we took tox
as our task runner tox was agreed on in the last review
讨论之后任务工具定了 tox
nox 有问题，我们用 tox
目前都是 tox
大家统一用 tox，nox 别碰
the team agreed on tox over the weekend, nox was turned down
did I not tell you tox? no nox!
whatever you set up should run on tox too, that's what you must do too
"""
ANNOUNCES_NOTHING = """
should we move from tox to nox
shall we switch to nox?
we plan to move from tox to nox next year
we might switch to nox some day
I'd like to move from tox to nox
the other team moved from tox to nox
just this once use nox
if the release fails switch from tox to nox
don't switch from tox to nox
never replace tox with nox
the docs say tox was replaced by nox
要不要从 tox 换成 nox
打算以后换成 nox
这次先用 nox
别的项目已经从 tox 换成 nox 了
"""
OF_ANOTHER_SLOT = """
use jest | playwright replaced cypress
use black for python | in the frontend we use prettier now
we use ruff | we replaced black with yapf
use sqlite in the unit tests | we moved from sqlite to postgres
use npm in the legacy folder | we switched from npm to pnpm
use pnpm | use yarn in the demo from now on
use pnpm | we moved the docs from npm to yarn
kafka topics are named after the team | we moved to nats
the mysql password is kept in the vault | the project runs on postgres now
npm scripts are sorted by name | this repo has moved over to pnpm
we moved to postgres | the mysql replica is used for reports
never use pip | we switched from poetry to uv
we use docker | podman works now as well
we use npm | yarn is also installed on the build machine now
use pnpm | pnpm is gone from the path on the build machine
"""


def lines(block: str) -> list[str]:
    """The lines of a block."""
    return block.strip().splitlines()


@pytest.mark.parametrize("text", lines(BOTH_NAMED))
def test_a_switch_names_what_left_and_what_came(text: str) -> None:
    """In two sentences, by a sign, taking back, at length; in English, Chinese and both."""
    switch = switch_in(text)
    assert switch is not None
    assert (switch.left, switch.entered) == ({"tox"}, {"nox"})


@pytest.mark.parametrize("new", lines(BOTH_NAMED) + lines(OTHERS) + lines(OLD_ALONE))
@pytest.mark.parametrize("old", lines(STATED))
def test_whatever_stated_the_old_tool_gives_way(old: str, new: str) -> None:
    """Also across languages, and where the older statement has a word that limits nothing."""
    assert contradicts(old, new)


@pytest.mark.parametrize("new", lines(ANNOUNCES_NOTHING))
def test_questions_plans_wishes_and_others_switches_end_nothing(new: str) -> None:
    """Nor does one time alone, a condition, or what is refused."""
    assert not contradicts("use tox", new)


@pytest.mark.parametrize("line", lines(OF_ANOTHER_SLOT))
def test_a_switch_leaves_what_is_about_something_else(line: str) -> None:
    """Another use, another place, or a thing of the tool; either way round."""
    one, _, other = line.partition(" | ")
    assert not contradicts(one, other)
    assert not contradicts(other, one)


TOOLS = sorted(tool for tool, family in FAMILY_OF.items() if family in ONE_OF and tool.isascii())


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(TOOLS),
    st.sampled_from(TOOLS),
    st.sampled_from(["we moved from {} to {}", "{} → {}", "{} 换成 {} 了"]),
)
def test_only_tools_of_one_use_take_each_others_place(left: str, entered: str, form: str) -> None:
    """Whatever the tools are: of two uses nothing is announced, of one both sides are told apart."""
    switch = switch_in(form.format(left, entered))
    if FAMILY_OF[left] != FAMILY_OF[entered]:
        assert switch is None
    elif left != entered:
        assert switch is not None
        assert (switch.left, switch.entered) == ({left}, {entered})


def test_what_merely_tells_of_a_tool_announces_no_change() -> None:
    """There is no word of a change in it."""
    assert not announces_change("tox runs the tests")
    assert switch_in("we use tox for the checks") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("validation will be done with cerberus", "we use cerberus"),
        ("the http client question is closed, aiohttp won", "no more questions"),
    ],
)
def test_words_that_only_look_like_leaving_end_nothing(old: str, new: str) -> None:
    """To be done with a tool is to use it, and no more questions are no more of nothing."""
    assert not contradicts(old, new)
