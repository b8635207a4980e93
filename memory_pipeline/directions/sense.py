"""Whether a clause is meant to last, judged by what was learnt from examples: a linear model over hashed parts of it.

Patterns know the words that say that something lasts. Most rules are said in passing, without any of them; what tells
those from a request is many weak signs at once: who speaks of whom, which word comes first, whether something is
pointed at. The weights of these signs are learnt offline by ``benchmarks/directions/train.py``; here they are only
added up.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from memory_pipeline.directions import chinese_plain, english, english_words
from memory_pipeline.directions.lazy import Lazy

BUCKETS = 1 << 17
_WEIGHTS = Path(__file__).with_name("sense.weights")
_LONGEST = 400  # characters of a clause that are looked at


@lru_cache(maxsize=4096)
def sense(masked: str) -> float:
    """Return how surely a clause lasts: above 0 it rather does, below 0 rather not; 1 is as sure as -1.

    ``masked`` is in lower case, with code and quotations blotted out. The same words always give the same number.
    """
    found = buckets(masked)
    weights = _weights()
    return sum(weights[bucket] - 128 for bucket in found) / (_SCALE * math.sqrt(len(found)))


def telling_words(masked: str) -> int:
    """Return how many different words of a clause say how things are meant, whatever they are about."""
    return len(_TELLING.intersection(_words(masked[:_LONGEST])))


#: What a weight of 1 is written as.
_SCALE = 32.0


def use_weights(packed: bytes | None) -> None:
    """Judge by other weights from now on, or with None by the packaged ones: to cross-validate what is learnt."""
    _chosen.clear()
    if packed is not None:
        _chosen.append(zlib.decompress(packed))
    sense.cache_clear()


_chosen: list[bytes] = []


def _weights() -> bytes:
    """The weights, one byte each, 128 being none; the packaged ones are read when a clause is first judged."""
    if not _chosen:
        _chosen.append(zlib.decompress(_WEIGHTS.read_bytes()))
    return _chosen[0]


def buckets(masked: str) -> list[int]:
    """Return the buckets of the parts of a clause, each once, in rising order."""
    return sorted({zlib.crc32(part.encode("utf-8", "replace")) & (BUCKETS - 1) for part in _parts(masked)})


def _parts(masked: str) -> Iterator[str]:
    words = _words(masked[:_LONGEST])
    kinds = [_kind(word) for word in words]
    yield "all"
    yield f"length {min(len(words), 24) // 3}"
    yield from _runs("w", ["^", *words, "$"], longest=3)
    yield from _runs("k", ["^", *kinds, "$"], longest=4)
    yield from (f"has {kind}" for kind in kinds if kind != "~")
    yield from (f"sign {name}" for name, sign in _SIGNS.items() if sign.match(masked))
    yield from (f"holds {name}" for name, signs in _WORDS_OF.items() if signs.search(masked))
    yield from (f"about {name}" for name, signs in _ZH_TOPICS.items() if signs.search(masked))
    for length in (2, 3, 5):
        yield f"begins {' '.join(kinds[:length])}"


def _runs(name: str, words: list[str], *, longest: int) -> Iterator[str]:
    for length in range(1, longest + 1):
        for start in range(len(words) - length + 1):
            yield f"{name} {' '.join(words[start : start + length])}"


_WORD = Lazy(
    r"(?P<code>▮+)|(?P<path>[\w.-]*[/\\][\w./\\-]*|[a-z_]\w*(?:\.\w+)+|--?[a-z][\w-]+|[a-z]+_\w+)"
    r"|(?P<number>\d[\d.,:%]*)|(?P<word>[^\W\d_]+(?:['’-][^\W\d_]+)*)|(?P<mark>[,:;!()=<>+&@#])"
)
#: What patterns know of a clause counts as a sign among the others.
_SIGNS = {
    "task": english_words.TASK,
    "builds": english_words.BUILDS,
    "zh task": chinese_plain.TASK,
    "notes": english_words.NOTES,
    "order": english.ORDER,
}
_WORDS_OF = {
    "trouble": english.TROUBLE,
    "moment": english_words.MOMENT,
    "lasts": english_words.LASTS,
    "here": english_words.IN_THIS,
    "back": english_words.POINTS_BACK,
    "reported": english.REPORTED,
    "unsure": english.UNSURE,
    "zh builds": chinese_plain.BUILDS,
    "zh insists": chinese_plain.INSISTS,
}
_ZH_TOPICS = {
    "trouble": Lazy(
        r"报错|失败|崩|挂了|错误|异常|不对|超时|白屏|没反应|找不到|不了|很慢|太慢|丢失|重复|乱码|泄漏|红了|不出来|有问题"
    ),
    "product": Lazy(
        r"按钮|页面|弹窗|用户|列表|登录|订单|表单|点击|跳转|图片|首页|价格|商品|购物车|菜单|邮箱|搜索|标题|邮件"
    ),
    "craft": Lazy(
        r"代码|注释|测试|单测|提交|变量|函数名|命名|缩进|文档|回答|回复|解释|分支|日志|格式|引号|依赖|类型|风格|review"
    ),
    "infra": Lazy(
        r"数据库|端口|环境|线上|生产|部署|发布|发版|上线|缓存|队列|接口|后端|前端|仓库|项目|服务|域名|配置|框架|内网"
    ),
    "people": Lazy(r"我们|咱们|大家|团队|公司|我司|组里|这边|本项目|客户|老板"),
    "lasting": Lazy(
        r"以后|今后|总是|一直|永远|始终|每次|都要|必须|一律|统一|记住|记得|务必|习惯|规定|规范|约定|规矩|原则|尽量|禁止|不许|不准"
    ),
    "moment": Lazy(r"这次|暂时|先|一下|今天|昨天|明天|刚才|现在|这个|这里|那个|再|帮我|看看|第[一二三]"),
}
_CJK = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _words(masked: str) -> list[str]:
    words: list[str] = []
    for match in _WORD.finditer(masked):
        group = match.lastgroup or ""
        if group != "word":
            words.append(match.group() if group == "mark" else f"<{group}>")
        elif _CJK.search(match.group()):
            words += _split(match.group())
        else:
            words.append(match.group().replace("’", "'"))
    return words


def _split(mixed: str) -> list[str]:
    """Chinese stands sign by sign, and what is written in letters within it word by word."""
    return [part for part in re.split(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])", mixed) if part]


def _kind(word: str) -> str:
    """A word that says how things are meant as it is, any other by what it is about, or by its form alone."""
    if word in _TELLING or not word[0].isalpha() or _CJK.match(word):
        return word
    about = _ABOUT.get(word) or (_ABOUT.get(word[:-1]) if word.endswith("s") else None)
    if about is not None:
        return f"<{about}s>" if word.endswith("s") and word not in _ABOUT else f"<{about}>"
    for ending in ("n't", "ing", "ed", "ly", "'s", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return f"~{ending}"
    return "~"


_TELLING_WORDS = """
i i'm i'd i've i'll me my mine myself we we're we've we'd we'll us our ours you you're you've your he she it it's
its they they're their them this that that's these those there there's here here's who which what when where why
how whenever wherever whatever whoever a an the some any every each all both no none nothing nobody never not nor
neither only just always often usually normally generally typically sometimes ever again once twice still already
yet now today tomorrow yesterday later soon currently temporarily then first next last before after until unless
while during since from to of in into on onto at by for with without within over under above below between through
about against as than like instead rather and or but so because if else though although too also even either is
are was were be been being am isn't aren't wasn't do does did don't doesn't didn't done has have had haven't
hasn't having can could can't cannot couldn't will would won't wouldn't shall should shouldn't must mustn't may
might need needs ought let let's please thanks thank ok okay yes no nope hi hey oh btw fyi ps sorry wait actually
maybe perhaps really very much many more most less least few fewer other another same such own one two three use
uses used using prefer prefers preferred like likes love hate want wants wanted expect avoid stop quit keep keeps
stay stick make sure remember forget note mind rule rules convention policy standard style habit preference
default norm principle decided decision agreed settled chose chosen went going go goes gone moved switched
migrated replaced dropped ditched banned forbidden allowed supposed required mandatory deprecated everywhere
anywhere everything anything anyone everyone someone team project repo repository codebase company house project's
future time times way ways forward respect follow ask tell show write
"""
_TELLING = frozenset(_TELLING_WORDS.split())

_TOPICS = {
    "task": """
        fix add remove rename run rerun create change update delete check look try implement refactor explain put
        give get work
        build debug investigate find convert move extract replace generate deploy revert undo merge rebase push pull
        commit open close
        import export download upload install bump upgrade review rewrite split optimise optimize handle support
        enable disable hide
        display sort filter parse validate print log measure profile reproduce restart reset continue finish start
        draft translate
        summarise summarize compare list set turn bring clean clear copy hook wire wrap tidy simplify style swap
        toggle adapt delegate survey explore inspect assess enumerate inventory audit map trace outline sketch prototype
        scaffold stub brainstorm research weigh evaluate estimate analyse analyze dig poke walk spin ping hold hand grab
        chase narrow spot-check double-check recheck verify count inspect browse skim scan fetch collect gather crawl
        tabulate plot render benchmark bisect cherry-pick squash stash tag ship rollback resolve restore retry archive
        backfill seed populate migrate port drop truncate wipe purge kill drain scale throttle cap clamp pad trim strip
        annotate highlight align centre center resize crop rotate embed inline unwrap flatten nest reorder shuffle
        deduplicate merge combine join append prepend insert inject attach detach bind mount expose publish
        """,
    "trouble": """
        error fail failing failed crash crashed hang slow broken wrong bug issue problem leak timeout duplicate
        missing red flaky
        exception stuck warning conflict complaint typo blank empty corrupt invalid 404 500 ugly weird strange flicker
        breaks broke crashes hangs loses lost dies died dead freezes frozen lags lagging 502 503 504 oom outage down
        vanishes vanished disappears disappeared stale garbled doubled deadlock
        """,
    "product": """
        button page modal user form cart customer admin header footer sidebar menu dialog table column row field
        search login
        avatar banner icon image list chart dashboard email mail order invoice payment checkout notification popup
        tooltip export
        report screen tab link input dropdown label counter price discount password account profile
        """,
    "craft": """
        code test comment docstring doc documentation commit message branch pr diff readme changelog naming name
        variable function
        class module file import type hint indentation indent quote semicolon line space formatter linter lint style
        review
        migration fixture mock snapshot coverage release tag version dependency package library abstraction
        exception log logging
        reply answer explanation summary response plan emoji bullet refactoring component constant helper schema sql
        query
        """,
    "infra": """
        database db api server port queue cache ci pipeline staging production prod dev environment cluster docker
        container
        image region host backend frontend service endpoint bucket gateway proxy vpn runner job cron backup replica
        secret config
        monorepo module sdk client app system network domain orm stack
        """,
    "tool": """
        python node typescript javascript rust go kotlin java ruby php swift elixir scala react vue svelte angular
        django flask
        fastapi rails spring laravel next nuxt vite webpack rollup esbuild parcel turbo nx npm pnpm yarn bun pip uv
        poetry pipenv
        conda pdm hatch maven gradle cargo jest vitest mocha ava karma pytest unittest nose tox nox rspec junit
        cypress playwright
        selenium eslint prettier biome dprint oxlint standardjs black ruff flake8 pylint isort mypy pyright gofmt
        clippy postgres
        postgresql mysql mariadb sqlite mongo mongodb redis memcached cockroachdb dynamodb elasticsearch kafka
        rabbitmq nats sqs
        celery sidekiq arq graphql rest grpc protobuf openapi swagger axios fetch httpx requests aiohttp urllib3
        pycurl lodash
        moment dayjs luxon date-fns zustand redux mobx jotai pinia pydantic marshmallow cerberus voluptuous zod yup
        jinja2 mako
        chameleon genshi handlebars tailwind sass less bootstrap mui storybook docker podman kubernetes k8s helm
        terraform ansible
        puppet jenkins circleci gitlab github bitbucket travis buildkite argo datadog sentry grafana prometheus loki
        kong nginx
        apache caddy traefik structlog loguru logbook eliot winston pino slog log4j hibernate prisma sequelize
        typeorm sqlalchemy
        alembic flyway liquibase invoke taskfile just makefile make bash zsh fish powershell vim emacs vscode neovim
        git svn numpy
        pandas polars duckdb spark airflow dbt pytorch tensorflow jax sklearn plotly matplotlib seaborn sphinx
        mkdocs semver
        """,
}
_ABOUT = {word: topic for topic, words in _TOPICS.items() for word in words.split()}
