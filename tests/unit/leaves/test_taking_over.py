"""What a person says has another value, place, command or person now ends what was said of the older one."""

from __future__ import annotations

import pytest

from memory_pipeline.likeness import contradicts

#: What was said, and what was said later.
TOLD = """
ask Dana about deployments | Dana left, ask Kim about deployments
Dana owns deployments | Dana has left the company, ask Kim about deployments from now on
Dana reviews the migrations | Kim has taken over the migrations from Dana
Dana reviews the migrations | Dana is no longer here, Kim reviews the migrations
ask Dana about the billing code | Kim took over the billing code from Dana
questions about the billing code go to Dana | Kim takes over the billing code from Dana
ask Dana about the billing code | Dana quit, ping Kim about the billing code
ask Dana about the schema | ask Kim about the schema, no longer Dana
ask Dana about the schema | for the schema ask Kim, not Dana
ask Dana about the schema | Dana moved on. For the schema go to Kim
数据库的问题找小王 | 小王离职了，数据库的问题找小李
发布由小王负责 | 小王走了，发布由小李负责
use tabs | I told you tabs, make that spaces
use tabs | switch to spaces
use tabs for indentation | make it spaces
indent with tabs | change to spaces please
use single quotes | I said single quotes, make that double quotes
use spaces | go back to tabs
use 2 spaces | make that 4 spaces
answer in German | switch to English
deploy with make ship | deploy with make release now, make ship is gone
deploy with `make ship` | deploy with `make release` now, `make ship` is gone
release with npm run publish:all | npm run publish:all is gone, release with npm run ship
run the checks with ./scripts/check.sh | run the checks with ./scripts/verify.sh now, ./scripts/check.sh is gone
start the stack with just up | start the stack with just dev, just up no longer exists
start the stack with just up | just up is now called just dev, start the stack with that
deploy with make ship | make release replaces make ship for deploys
deploy with make ship | make ship was renamed to make release, deploy with that
the meeting is at 10 | the meeting is at 11
the standup is at 10 | the standup is at 11 now
the standup is at 10:00 | the standup moved to 11
the planning starts at 9 | the planning starts at 10 from now on
the retro is at 3pm | the retro is at 4pm now
站会十点开始 | 站会改到十一点
日志放在 /var/log/app | 日志改放到 /srv/log/app
截图存到 docs/img | 截图改存到 docs/shots
备份放在 /mnt/a | 备份挪到 /mnt/b
logs go to /var/log/app | logs go to /srv/log/app now
put screenshots into docs/img | screenshots go to docs/shots from now on
fixtures live in tests/data | fixtures live in tests/fixtures now
fixtures live in tests/data | fixtures moved to tests/fixtures
ask Mira about invoices | Tom has taken over invoices from Mira
Mira maintains the importer | Mira resigned, Tom maintains the importer now
Mira merges pull requests | Mira is no longer with us, Tom merges pull requests
for invoices go to Mira | ask Tom about invoices, no longer Mira
use double quotes | switch to single quotes
indent with spaces | make that tabs
publish with just ship | publish with just release now, just ship was removed
build the docs with ./docs.sh | ./docs.sh is gone, build the docs with ./site.sh
build the docs with yarn docs | yarn site replaces yarn docs for building docs
uploads go to var/in | uploads are kept in srv/in now
reports are stored in out/reports | reports are now written to build/reports
缓存放在 tmp/cache | 缓存改放到 var/cache
"""
#: The same forms, of something else.
OF_SOMETHING_ELSE = """
ask Mira about invoices | Mira left, ask Tom about the importer
ask Mira about invoices | Tom has taken over the importer from Mira
Mira maintains the importer | Mira left early, Tom maintains the exporter now
use double quotes | make that a link
use tabs | switch to the second tab
publish with just ship | build with just compile now, just make is gone
never run make ship on friday | deploy with make release now, make ship is gone
uploads go to var/in | downloads are kept in srv/in now
reports are stored in out/reports | the reports in out/reports are too long
缓存放在 tmp/cache | 日志改放到 var/cache
发布由小王负责 | 小王走了，数据库由小李负责
"""


def lines(block: str) -> list[str]:
    """The lines of a block."""
    return block.strip().splitlines()


@pytest.mark.parametrize("line", lines(TOLD))
def test_what_another_took_over_is_no_longer_told_of_the_first(line: str) -> None:
    """Either way round: persons, commands, places, times, styles."""
    known, _, told = line.partition(" | ")
    assert contradicts(known, told)
    assert contradicts(told, known)


@pytest.mark.parametrize("line", lines(OF_SOMETHING_ELSE))
def test_what_is_taken_over_elsewhere_ends_nothing(line: str) -> None:
    """Another task, another thing, more than the change tells of."""
    known, _, told = line.partition(" | ")
    assert not contradicts(known, told)
    assert not contradicts(told, known)
