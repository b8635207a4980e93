"""How well search finds the memory that a task needs, against plain FTS5 on the same memories.

Run: python benchmarks/retrieval.py [--sizes N ...] [--seed N] [--json]
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict
from retrieval_pairs import SETS, pairs_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from remembered import remember, row

from memory_pipeline.recall.search import search
from memory_pipeline.store.store import Store

NOW = 1_790_000_000.0
DAY = 86_400.0
DEPTH = 10

#: What the other memories are made of: the same field, the same words, other statements.
ENGLISH = (
    ("Always", "Never", "From now on", "As a rule", "If you can,", "Please"),
    """
    run the tests, update the docs, ask the team, check the logs, rename the branch, bump the version, clear the cache,
    deploy the worker, review the schema, format the code, restart the database, install the tools, measure the build,
    close the ticket, rotate the keys, archive the reports, migrate the users, validate the form, pin the image,
    split the commit, mock the clock
    """,
    """
    before the release, after a merge, on the staging server, in the checkout service, for every customer,
    when the queue is full, in the admin pages, during the night, for the mobile app, on Fridays,
    in the billing module, with the new client, for the import, when CI is red, in the search worker,
    for the German site, on the old proxy, in the payment flow, without the vault, for the partner API
    """,
)
CHINESE = (
    ("总是", "不要", "以后", "一般来说", "请", "必须"),
    """
    运行测试, 更新文档, 询问团队, 查看日志, 修改分支名, 升级版本, 清理缓存, 部署任务, 评审表结构,
    格式化代码, 重启数据库, 安装工具, 测量构建时间, 关闭工单, 更换密钥, 归档报表, 迁移用户, 校验表单
    """,
    """
    ，在发布之前, ，在合并之后, ，在测试服务器上, ，在结算服务里, ，对每个客户, ，队列满的时候, ，在管理页面, ，在夜里,
    ，为移动端, ，在星期五, ，在账单模块, ，用新的客户端, ，为导入, ，构建失败的时候, ，在搜索任务里
    """,
)
IDENTIFIERS = (
    ["get", "set", "find", "load", "parse", "make", "use", "render", "refresh", "send"],
    [
        "User",
        "Order",
        "Cart",
        "Invoice",
        "Session",
        "Payment",
        "Report",
        "Image",
        "Token",
        "Request",
        "Schema",
        "Index",
    ],
    ["Name", "Total", "List", "Cache", "Policy", "Job", "Client", "Store", "Event", "Limit", "File", "State"],
    (
        "{0} is called twice in {1}",
        "{0} lives in src/{2}/{1}.ts",
        "The flag --{2}-{1} changes {0}",
        "{0} fails when {3} is not set",
        "test_{2}_{1} covers {0}",
        "{1}.{0} needs {3}",
    ),
)


class Score(Struct, frozen=True, kw_only=True):
    """How well one way of searching did on one set of tasks in a store of one size."""

    size: int
    set: str
    way: str
    tasks: int
    hit_at_1: float
    hit_at_5: float
    hit_at_10: float
    mean_reciprocal_rank: float
    median_milliseconds: float


def main() -> int:
    """Measure, print a table (or, with --json, everything), and say where search is worse than plain FTS5."""
    arguments = _arguments()
    scores = [score for size in arguments.sizes for score in measure(size, seed=arguments.seed)]
    if arguments.json:
        print(json.dumps({"machine": _machine(), "seed": arguments.seed, "scores": [asdict(one) for one in scores]}))
    else:
        print(f"{_machine()}; seed {arguments.seed}\n")
        print_table(scores)
    return 1 if _losses(scores) else 0


def measure(size: int, *, seed: int) -> list[Score]:
    """Fill a store with the planted memories and others up to ``size``, and ask for each planted one."""
    made = random.Random(seed)
    planted = {memory for name in SETS for memory, _ in pairs_of(name)}
    statements = [*planted, *distractors(size - len(planted), made, beside=planted)]
    statements.sort()
    made.shuffle(statements)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "memory.db")
        fill(store.path, statements, made)
        store.search.refresh()
        with closing(plain_index(statements)) as plain:
            ways: dict[str, Callable[[str], list[str]]] = {
                "search": lambda task: [found.memory.statement for found in search(store, task, now=NOW, limit=DEPTH)],
                "plain FTS5": lambda task: ask_plain(plain, task),
            }
            scores = [
                _score(size, f"{name}{half}", way, pairs, ways[way])
                for name in SETS
                for half, pairs in (
                    ("", pairs_of(name)),
                    (", held out", pairs_of(name)[1::2]),
                )
                for way in ways
            ]
        store.close()
    return scores


def distractors(count: int, made: random.Random, *, beside: set[str]) -> list[str]:
    """Make other memories, half of them English, a quarter Chinese, a quarter about identifiers; none twice."""
    english, chinese = _parts(ENGLISH), _parts(CHINESE)
    found: dict[str, None] = {}
    while len(found) < count:
        turn = len(found) % 4
        if turn == 3:
            statement = _about_identifiers(made)
        elif turn == 2:
            statement = "".join(map(made.choice, chinese))
        else:
            statement = " ".join(map(made.choice, english))
        if statement in found:
            statement = f"{statement} ({made.choice(chinese[1] if turn == 2 else english[1])})"
        if statement not in beside:
            found[statement] = None
    return list(found)


def _parts(source: Sequence[Sequence[str] | str]) -> list[Sequence[str]]:
    return [[one.strip() for one in part.split(", ")] if isinstance(part, str) else part for part in source]


def fill(path: Path, statements: Sequence[str], made: random.Random) -> None:
    """Put memories of the last half year into a store, some of them used; what they rest on has no words."""
    rows = []
    used: dict[str, int] = {}
    for number, statement in enumerate(statements):
        said = NOW - made.uniform(0, 180) * DAY
        times = {"first_seen": said, "last_confirmed": said, "learned_at": said}
        rows.append(row(f"m_{number:016x}", statement, "project:example.org/sam/shop", **times))
        if made.random() < 0.1:
            used[f"m_{number:016x}"] = made.randint(1, 5)
    remember(path, rows, used=used)


def plain_index(statements: Sequence[str]) -> sqlite3.Connection:
    """Make an index as SQLite makes it when nothing is said: unicode61, bm25."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE plain USING fts5(statement)")
    database.executemany("INSERT INTO plain VALUES (?)", [(statement,) for statement in statements])
    return database


def ask_plain(database: sqlite3.Connection, task: str) -> list[str]:
    """Return what holds any word of a task, best first by bm25."""
    words = re.findall(r"[^\W_]+", task)
    if not words:
        return []
    asked = " OR ".join(f'"{word}"' for word in words)
    rows = database.execute(
        "SELECT statement FROM plain WHERE plain MATCH ? ORDER BY rank, rowid LIMIT ?", (asked, DEPTH)
    )
    return [row[0] for row in rows]


def print_table(scores: Sequence[Score]) -> None:
    """Print the scores as a Markdown table, search and plain FTS5 side by side."""
    print("| memories | tasks | hit@1 | hit@5 | hit@10 | MRR | median ms |")
    print("|---|---|---|---|---|---|---|")
    by_set = {(one.size, one.set, one.way): one for one in scores}
    for one in scores:
        if one.way != "search":
            continue
        plain = by_set[one.size, one.set, "plain FTS5"]
        cells = [f"{getattr(one, name):.2f} / {getattr(plain, name):.2f}" for name in _RATES]
        times = f"{one.median_milliseconds:.1f} / {plain.median_milliseconds:.1f}"
        print(f"| {one.size:,} | {one.set} ({one.tasks}) | {' | '.join(cells)} | {times} |")
    for loss in _losses(scores):
        print(f"\nworse than plain FTS5: {loss}", end="")


_RATES = ("hit_at_1", "hit_at_5", "hit_at_10", "mean_reciprocal_rank")


def _losses(scores: Sequence[Score]) -> list[str]:
    by_set = {(one.size, one.set, one.way): one for one in scores}
    return [
        f"{one.set} among {one.size}, {name}"
        for one in scores
        if one.way == "search"
        for name in _RATES
        if getattr(one, name) < getattr(by_set[one.size, one.set, "plain FTS5"], name)
    ]


def _score(size: int, name: str, way: str, pairs: Sequence[tuple[str, str]], ask: Callable[[str], list[str]]) -> Score:
    ranks: list[int | None] = []
    times: list[float] = []
    for memory, task in pairs:
        began = time.perf_counter()
        found = ask(task)
        times.append(time.perf_counter() - began)
        ranks.append(found.index(memory) + 1 if memory in found else None)
    return Score(
        size=size,
        set=name,
        way=way,
        tasks=len(pairs),
        hit_at_1=_share(ranks, 1),
        hit_at_5=_share(ranks, 5),
        hit_at_10=_share(ranks, 10),
        mean_reciprocal_rank=sum(1 / rank for rank in ranks if rank) / len(ranks),
        median_milliseconds=statistics.median(times) * 1_000,
    )


def _share(ranks: Sequence[int | None], depth: int) -> float:
    return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks)


def _about_identifiers(made: random.Random) -> str:
    verbs, things, parts, shapes = IDENTIFIERS
    thing, part = made.choice(things), made.choice(parts)
    name = f"{made.choice(verbs)}{thing}{part}"
    variable = f"{made.choice(things)}_{made.choice(parts)}".upper()
    return made.choice(shapes).format(name, made.choice(parts).lower(), made.choice(things).lower(), variable)


def _machine() -> str:
    return f"{platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
