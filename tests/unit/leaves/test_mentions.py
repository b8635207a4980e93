"""Who merely mentions a tool, a value or a person ends nothing that was laid down."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.likeness import choose_otherwise, contradicts
from memory_pipeline.mentions import merely_mentions
from memory_pipeline.rivals import FAMILY_OF, ONE_OF

#: What was laid down, and what was said later: tried, compared, read, reported, imagined, of others, of once.
OF_TOOLS = """
use flask | had we taken fastapi instead of flask, the docs would be free
use flask | the sister product is on fastapi since june
use flask | flask 3 replaced flask 2 on staging
use flask | the flask talk was moved from monday to friday
use flask | our old intern rewrote a flask route in fastapi, I reverted it
use flask | django used to be the thing here, years before flask
use flask | if flask ever dies, fastapi would be next
use flask | ticket 40 asks to migrate from flask to fastapi, closed as wontfix
use flask | flask deprecated before_first_request
use flask | my flask server is gone, port taken
use flask | someone on the forum replaced flask by fastapi and got twice the speed
use flask | the sample in the issue uses fastapi instead of flask
use flask | quick comparison for the blog: fastapi is leaner than flask
use flask | flask, not fastapi, as always
use flask | no plans to leave flask
use flask | fastapi was on the table for a while
use flask | the consultant's slides say move to fastapi
用 flask | 试用了一下 fastapi，文档不错，但不换
用 flask | 隔壁项目上个月从 flask 迁到 fastapi
用 flask | 有客户问为什么不用 fastapi
用 flask | fastapi 的作者出了新书
用 flask | flask 报了个弃用警告
用 flask | 群里在吵 flask 和 fastapi 哪个好
用 flask | 早些年是 django，后来才是 flask
用 flask | 要不是历史原因早就换 fastapi 了
用 flask | 我自己的小项目换成 fastapi 了
use pytest | nose felt quicker to write back when I used it, anyway
use pytest | hypothesis plugs into pytest, so unittest instead of pytest would lose us that
use pytest | a dozen of our downstream users are still on nose
use pytest | unittest now has subtests as well
use pytest | the ci log mentions unittest instead of pytest, ignore that
use pytest | half of the examples in the docs moved from pytest to unittest
use pytest | for the conference talk I ported the example from pytest to unittest
use pytest | the freelancer left us a branch where everything is unittest
use pytest | we were this close to replacing pytest with unittest
use pytest | not that we'd ever go from pytest to unittest
use pytest | Ben says he switched from pytest to nose at home
use pytest | the benchmark switched from pytest to unittest made no sense
use pytest | was pytest replaced by unittest in that fork
use pytest | I dreamt that we moved to unittest, terrible
use pytest | pytest took 12 minutes today
use pytest | pytest went red again
use pytest | pytest needs python 3.9 now
use pytest | take the pytest output and drop the warnings
use pytest | convert this one legacy test from unittest to pytest
use docker | podman got a nice desktop app meanwhile
use docker | on the build agents of the customer it's podman instead of docker
use docker | docker changed its terms, we pay for it
use docker | docker is gone from my path, how do I get it back
use docker | docker desktop has been replaced by the plain engine on macs
use docker | the article compares docker and podman, podman wins
use docker | remove the docker images you no longer need
use docker | stop the docker containers from yesterday
use docker | our neighbours down the hall ditched docker for podman
use docker | rumour has it that docker will be replaced by podman
use redux | zustand won some award this year
use redux | I replaced redux by zustand in a toy project to learn it
use redux | mobx was the fashion before redux
use redux | the redux devtools are gone since the browser update
use redux | the old redux store is gone, the new one is in src/store
use redux | replace the redux import with the hook
用 redux | zustand 最近发了新版本
用 redux | 新来的同事习惯用 mobx
用 redux | 之前有人把 redux 换成 zustand，我让他改回来了
用 redux | 那个示例项目已经从 redux 换成 mobx
用 redux | redux 昨天升级了
use react | stop the react dev server now
use jest | We tried vitest instead of jest, but stayed with jest
use react | vue is out of scope
use jest | we gave vitest a try last month and came back to jest
use jest | vitest looked nice, but in the end we kept jest
use jest | mocha was tried here once and thrown out again
use jest | we evaluated vitest and decided against it
use jest | vitest was rejected in the last review
use jest | I replaced jest with vitest on a branch, it was slower, so I reverted it
use jest | swapping jest for vitest brought nothing
use jest | replacing jest with vitest would take weeks
use jest | vitest is faster than jest now
use jest | vitest has become really good
use jest | jest is better than vitest these days
use jest | everybody talks about vitest now
use jest | my last company moved from jest to vitest
use jest | the mobile app switched from jest to vitest last week
use jest | our sister team is on vitest now
use jest | a colleague of mine swears by vitest now
use jest | the backend has been moved to mocha, the frontend stays as it is
use jest | before jest we had mocha
use jest | we came from mocha to jest two years ago
use jest | mocha was replaced by jest long ago
use jest | we once switched from jest to mocha and it was a disaster
use jest | imagine we replaced jest with vitest
use jest | suppose we moved from jest to vitest
use jest | what we'd gain from vitest instead of jest is speed
use jest | I'm reading about vitest now
use jest | the vitest docs explain how to migrate from jest
use jest | there's a guide on how to switch from jest to vitest
use jest | the blog post says that jest is dead
use jest | run it once with vitest instead of jest and compare
use jest | for this spike use vitest instead of jest
use jest | vitest now complains about a missing config
use jest | the error says: jest is no longer supported, use vitest
use jest | error: cannot find module vitest, did you mean jest
use jest | the plugin dropped support for jest
use jest | the library switched its own tests from jest to vitest
use jest | upstream moved to vitest now
use react | svelte is off the table
use react | vue is not an option here
use react | vue is dead to me
use react | angular was ruled out last year
use react | vue is gone from the list of candidates
use postgres | I removed mysql from the list of drivers we have to test
use postgres | the customers now use mysql instead of postgres
use postgres | the data warehouse was moved from postgres to mysql
use postgres | the report database has switched to mariadb
use postgres | postgres is now at version 16
use postgres | postgres was down yesterday, it's up again now
use postgres | the postgres container died, I restarted it
use postgres | drop the postgres table users_old now
use postgres | stop postgres before you copy the files
use postgres | I stopped postgres, start it again when you need it
use pnpm | the ci image no longer ships pnpm, install it with corepack
use pnpm | npm audit has become useless
use pnpm | delete the leftovers of yarn, it's gone since 2021
use pnpm | people keep asking why we don't use yarn instead
use pnpm | the readme was wrong about yarn, I corrected it
use pnpm | use npm only for publishing from now on
use kafka | rabbitmq is used instead of kafka for the mails
use kafka | the payments service has moved from kafka to sqs
use mypy | pyright in the editor is fine now
use mypy | pyright now reports an error that mypy doesn't
use mypy | mypy is not wrong here
use mypy | mypy is out of date on my laptop
use uv | if poetry had not been replaced, we'd still wait
use docker | docker is not running, start it
use docker | docker stopped working on my machine, so I use podman for now
use docker | colleagues with a mac prefer podman instead of docker
use black | black changed its style in the new version
use black | I don't miss yapf, black is great
用 jest 跑测试 | 试过 vitest，最后还是留在 jest
用 jest 跑测试 | 之前评估过用 vitest 代替 jest，没有采用
用 jest 跑测试 | vitest 不在考虑范围内
用 jest 跑测试 | 现在大家都在讨论 vitest
用 jest 跑测试 | 移动端已经从 jest 换成 vitest 了
用 jest 跑测试 | 隔壁组现在用 vitest 了
用 jest 跑测试 | 上家公司已经把 jest 换成 vitest 了
用 jest 跑测试 | 以前从 mocha 换成了 jest
用 jest 跑测试 | 如果换成 vitest 就要重写配置
用 jest 跑测试 | 听说 vitest 现在比 jest 快
用 jest 跑测试 | vitest 的文档里讲了怎么从 jest 迁移
用 jest 跑测试 | 报错说 jest 已经不支持了，要用 vitest
用 jest 跑测试 | 在分支上把 jest 换成 vitest 试了试，效果不好又改回来了
用 jest 跑测试 | 临时用一下 vitest，不用 jest
用 jest 跑测试 | 把 jest 换成 vitest 要花好几周
用 postgres | postgres 昨天挂了，现在好了
用 postgres | 报表库已经从 postgres 迁到 mysql
用 postgres | 客户那边现在用 mysql
用 postgres | 先停掉 postgres 再复制文件
用 postgres | postgres 升级到 16 了
use react | on the intranet they rewrote it from react to svelte
use react | our designers prefer vue for their prototypes
use react | angular feels heavier than react
use react | preact looked tempting, svelte even more so, in the end nothing changed
use react | a customer wanted vue instead of react, we said no
use react | vue was proposed by the new guy and declined
use react | the intern replaced react with vue over the weekend, I threw that away
use react | when I was at my former employer we replaced react by angular
use react | the survey says that most developers have switched from react to vue
use react | svelte has gained a lot of attention since last year
use react | rewriting this in svelte instead of react costs us a quarter
use react | only the admin area moved from react to vue
use react | the marketing pages run on vue now
use react | the legacy area is now on angular only
use react | in the demo we replaced react with vue
use react | reading up on vue now because of the talk
use react | the tutorial uses vue instead of react
use react | in the book they switch from react to vue in chapter 4
use react | whoever wants vue instead of react can leave
use react | somebody on slack said vue replaces react now
use react | is vue better than react now
use react | no, vue instead of react was a joke
use react | just kidding, vue it is not
use react | the typo was vue instead of react
use react | vue now prints a deprecation notice
use react | the linter now thinks that we use vue
use react | it printed "react is deprecated, use vue"
use react | react is out with a new release
use react | react moved its docs to a new site
use react | react removed the old lifecycle, that's why the build fails
use react | the react upgrade is over now
use react | react was wrong in the import path, I corrected it
use react | forget the react warning for now
use react | ignore the react warning
use react | I'm sick of react warnings
use react | remove the react logo from the page
use react | drop the unused react imports now
use postgres | I switched from postgres to mysql on my laptop to test that, no difference
use postgres | back in 2019 we moved from mysql to postgres
use postgres | we might go from postgres to mysql if licence costs rise
use postgres | next year mysql will perhaps replace postgres
use postgres | whether mysql replaces postgres will be decided in may
use postgres | the vote on moving from postgres to mysql is on monday
use postgres | management is discussing mysql instead of postgres
use postgres | the proposal to replace postgres with mysql was turned down
use postgres | nobody wants to move from postgres to mysql
use postgres | thank god we never moved from postgres to mysql
use postgres | don't ever suggest mysql instead of postgres again
use postgres | moving from postgres to mysql is not an option
use postgres | there will be no switch from postgres to mysql
use postgres | the customer's staging box now has mysql
use postgres | for the integration with shop x we read from mysql now
use postgres | the migration from postgres 14 to postgres 16 is done
use postgres | the mysql client is gone from the image
用 react | 有同事提过换成 vue，被我拒绝了
用 react | 管理后台那块已经换成 vue 了
用 react | 客户想把 react 换成 vue，我们没答应
用 react | 文章里说 react 过时了，该用 vue
用 react | vue 现在也很流行
用 react | 比起 vue，现在还是 react 顺手
用 react | 去年试着换到 vue，后来又换回来了
用 react | 老项目从 angular 换到 react 花了半年
用 react | 我笔记本上现在装的是 vue
用 react | vue 现在会报一个警告
用 react | 把没用到的 react import 删掉
用 react | 演示用的页面改用 vue 了
用 react | 下周讨论要不要把 react 换成 vue
用 react | 没人想把 react 换成 vue
"""

OF_VALUES_AND_PERSONS = """
use pnpm | someone committed a yarn.lock, it's removed now
the api runs on port 8080 | the admin ui moved from 8080 to 9090
the api runs on port 8080 | the api once ran on 9090
the api runs on port 8080 | on my laptop the api runs on port 9090
the api runs on port 8080 | in tests the api runs on port 9090
the api runs on port 8080 | port 9090 is already in use
the api runs on port 8080 | the api moved from 9090 to 8080
timeouts are 30 seconds | the test took 45 seconds
timeouts are 30 seconds | I waited 60 seconds now
releases go out on tuesday | this release moves to thursday
releases go out on tuesday | releases used to go out on thursday
releases go out on tuesday | the other team releases on thursday
releases go out on tuesday | thursday is a holiday this week
we release every tuesday | the demo is every thursday now
Dana reviews the migrations | Kim reviews the designs
Dana reviews the migrations | Kim reviewed the migrations while Dana was away
Dana reviews the migrations | Kim would like to review the migrations
Dana reviews the migrations | Kim used to review the migrations
Dana reviews the migrations | ask Kim about the designs
Dana reviews the migrations | Dana left early today
Dana reviews the migrations | Kim took over the build from Dana
ask Dana about deployments | Dana left a comment on the pr
ask Dana about deployments | Dana is gone for lunch
ask Dana about deployments | ask Kim about the database
ask Dana about deployments | Kim has taken over the mobile app from Dana
ask Dana about deployments | Kim also knows about deployments
the standup is at 10 | the retro is at 11
the standup is at 10 | today the standup is at 11
the standup is at 10 | the standup took until 11
the standup is at 10 | the standup in berlin is at 11
logs go to /var/log/app | metrics go to /srv/log/app
logs go to /var/log/app | the old logs are in /srv/log/app
deploy with make release | test with make check now
deploy with make release | make release failed, so I ran make ship
deploy with make release | make release now takes 5 minutes
use tabs | the makefile needs tabs, the rest spaces
use tabs | there are spaces in line 3
use spaces | I see tabs in that file now
use tabs | no trailing spaces
use tabs | someone used spaces instead of tabs in line 3
indent with spaces | the makefile has tabs now
the cache ttl is 60 seconds | for the login page the cache ttl is 30 seconds
the cache ttl is 60 seconds | I saw a cache ttl of 30 seconds somewhere
the cache ttl is 60 seconds | the vendor's cache ttl is 30 seconds
the cache ttl is 60 seconds | the cache ttl moved from 30 to 60 seconds
backups run at 03:00 | the last backup ran at 04:00
backups run at 03:00 | backups of the wiki run at 04:00
backups run at 03:00 | yesterday backups ran at 04:00 because of the outage
Sam approves releases | Ravi approved the last release
Sam approves releases | Ravi wants to approve releases
Sam approves releases | Ravi approves expenses
Sam approves releases | if Sam is away Ravi approves releases
ask Sam about the billing code | I asked Ravi about the billing code
ask Sam about the billing code | Ravi left us a note about the billing code
ask Sam about the billing code | Sam has left the meeting
ask Sam about the billing code | Sam moved to the second floor
screenshots go to docs/img | the screenshots in docs/img are too large
screenshots go to docs/img | screenshots of the app store go to store/img
日志放在 /var/log/app | 日志里写着 /srv/log/app
日志放在 /var/log/app | 监控数据放在 /srv/log/app
每周二发版 | 这周四发版
每周二发版 | 周四开例会
"""
#: Frames around a switch that make a mere mention of it.
AROUND = """
the tutorial shows how to go from {old} to {new}
imagine we moved from {old} to {new}
my former company moved from {old} to {new}
we decided against moving from {old} to {new}
nobody wants to move from {old} to {new}
there will be no switch from {old} to {new}
a customer moved from {old} to {new} last week
on my laptop I moved from {old} to {new}
听说有团队从 {old} 换到了 {new}
"""
#: Announcements that have something of a mention in them.
ANNOUNCING = """
we tried tox for half a year, were not happy, and have settled on nox
after a long discussion we decided to part with tox, everything has been converted to nox
ops took tox off our machines last week, so the whole project has been on nox since then
I know the readme still mentions tox, but since the rewrite nox is what we use
whatever the tutorials say, we replaced tox with nox
tox crashes all the time, so we use nox now
our team has switched from tox to nox
don't mind my tox note, the client asked for nox
we once said tox, now it's nox
"""


def lines(block: str) -> list[str]:
    """The lines of a block."""
    return block.strip().splitlines()


@pytest.mark.parametrize("line", lines(OF_TOOLS) + lines(OF_VALUES_AND_PERSONS))
def test_a_mere_mention_ends_nothing(line: str) -> None:
    """Either way round, in English and Chinese."""
    known, _, told = line.partition(" | ")
    assert not contradicts(known, told)
    assert not contradicts(told, known)
    assert not choose_otherwise(known, told)


@pytest.mark.parametrize("told", lines(ANNOUNCING))
def test_an_announcement_is_no_mere_mention(told: str) -> None:
    """What was tried, read or crashed may be the reason for a change that is made."""
    assert not merely_mentions(told.casefold())
    assert contradicts("use tox", told)


TOOLS = sorted(tool for tool, family in FAMILY_OF.items() if family in ONE_OF and tool.isascii())


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TOOLS), st.sampled_from(TOOLS), st.sampled_from(lines(AROUND)))
def test_no_switch_is_made_by_telling_of_one(old: str, new: str, frame: str) -> None:
    """Whichever tools are named."""
    assert not contradicts(f"use {old}", frame.format(old=old, new=new))
