"""What a statement names has to stand in the words that it rests on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.grounding import ungrounded

GROUNDED = [
    ("Use pnpm, not npm", "from now on use pnpm instead of npm"),
    ("edit src/app.py", "I changed ./src/app.py today"),
    ("edit ./src/app.py", "I changed src/app.py today"),
    ("look into src/", "everything in src changed"),
    ("see docs/a.md.", "docs/a.md"),
    ("edit src/app.py", r"I changed src\app.py today"),
    ("keep lines under 80 characters", "lines: at most 80 chars"),
    ("the limit is 1,000 rows", "1000 rows"),
    ("wait 5s", "wait 5 seconds"),
    ("deploy on Fridays, 2 to 4", "friday 2-4"),
    ("Use Python 3.11+", "python 3.11"),
    ("deploy v1.2", "version 1.2 goes out"),
    ("Run `make lint` before a commit", "please run make   lint first"),
    ("use --cov-fail-under=90", "pytest --cov-fail-under 90"),
    ("Write commits in Latin", "always write commit messages in latin"),
    ("The API runs on port 8080", "api at localhost:8080"),
    ("Open PRs against develop", "open a PR against develop"),
    ("GitHub's tokens expire", "github tokens"),
    ("NEVER push to main", "don't push to main"),
    ("Keep a read-only, up-to-date copy; a long-running job makes it", "keep a copy"),
    ("It's fine, e.g. for tests and/or docs", "ok"),
    ("It works. Then deploy: Ask first", "it works"),
    ("C# and C++ only", "c# c++"),
    ("Immer die Tests im Ordner nicht löschen", "die tests"),
    ("使用空格缩进", "缩进用空格"),
    ("统一使用 uv 管理依赖", "以后用 uv"),
    ("端口是 8080", "端口8080不变"),
    ("端口是８０８０", "port 8080"),
    ("Use 4-space indentation", "indent with 4 spaces"),
    ("Time-outs are 30s", "timeouts 30 seconds"),
    ("Use async/await", "use async and await"),
    ("Use Node.js 20", "node 20 please"),
    ("Open http://localhost:3000/admin", "localhost:3000/admin"),
    ("keep it short and simple", ""),
]
UNGROUNDED = [
    ("Use pnpm", "use npm", "pnpm"),
    ("use single quotes", "use double quotes", "single"),
    ("Deploy with Docker", "deploy it", "Docker"),
    ("keep 80", "keep 88", "80"),
    ("use 3 spaces", "use 3.5 spaces", "3"),
    ("use port 80", "use port 8080", "80"),
    ("deploy v1.2", "deploy v1.3", "v1.2"),
    ("keep 5-10 files", "keep 5 files", "10"),
    ("wait until 2026-10-05", "2026-10-06", "2026-10-05"),
    ("edit src/app.py", "src/app.pyc", "src/app.py"),
    ("edit src/app.py", "src/lib/app.py", "src/app.py"),
    ("edit `src/app.py`", "app.py", "src/app.py"),
    ("Run `npm test`", "npm run test", "npm test"),
    ("run with --fix", "run --fix-only", "--fix"),
    ("run with --fix", "fix it", "--fix"),
    ("set it by --level=3", "--level 4", "3"),
    ("write in Latin", "write in Greek", "Latin"),
    ("use the MyClass", "use it", "MyClass"),
    ("ask the API", "ask", "API"),
    ("see my_module", "see module", "my_module"),
    ("install left-pad", "install it", "left-pad"),
    ("look at shop-web", "look at shop-web-old", "shop-web"),
    ("ping db@host.internal", "ping", "db@host.internal"),
    ("log in to https://example.org/x", "log in", "https://example.org/x"),
    ("look into src/config", "src/app.py and config/dev.toml", "src/config"),
    ("use 4-tab indentation", "use 4 spaces", "4-tab"),
    ("edit app.js", "the app", "app.js"),
    ("decode utf-8", "decode utf-16 in 8 steps", "utf-8"),
    ("使用空格缩进", "用制表符", "空格"),
    ("端口是 9090", "端口是 8080", "9090"),
    ("用 poetry 管理依赖", "用 uv 管理依赖", "poetry"),
]


@pytest.mark.parametrize(("statement", "source"), GROUNDED)
def test_what_the_sources_name_is_grounded(statement: str, source: str) -> None:
    """Rewording, other case, a unit, a plural and a path's spelling bring in nothing."""
    assert ungrounded(statement, [source]) is None


@pytest.mark.parametrize(("statement", "source", "sign"), UNGROUNDED)
def test_what_no_source_names_is_told(statement: str, source: str, sign: str) -> None:
    """A number, path, flag, command or name of another spelling is another one."""
    assert ungrounded(statement, [source]) == sign


def test_each_sign_may_stand_in_another_source() -> None:
    """The sources count together, but a command is not put together from two of them."""
    assert ungrounded("Use pnpm and `make lint`", ["pnpm it is", "run make lint"]) is None
    assert ungrounded("Run `make lint`", ["run make", "lint it"]) == "make lint"


def test_the_first_of_several_is_told() -> None:
    """The order is the statement's; without any source nothing is grounded."""
    assert ungrounded("Use `uv` with src/a.py and 3 jobs", []) == "uv"
    assert ungrounded("Use `uv` with src/a.py and 3 jobs", ["uv"]) == "src/a.py"


WORDS = st.sampled_from(
    [
        *("Use", "the", "API", "Latin", "src/app.py", "./x/", "--fix", "--a=b", "-n", "80", "5-10", "1920x1080"),
        *("1,000", "10:30", "`make lint`", "``", "`", "C++", "@scope/pkg", "#12", "$5", "80%", "don't", "O'Brien"),
        *("shop-web", "read-only", "my_module", "空格", "端口8080", "=x", "a=", "~/.config", "C:\\new\\x", "*.py"),
        *("2026-10-05", "(see", "it)", "GitHub's", "é", "İ", "ﬁx", "x²", "½", "-", "'quoted'", "über-Änderung"),
        *("v1.2", "...", "2x", "a--b"),
    ]
)
STATEMENTS = st.lists(WORDS | st.text(max_size=6), max_size=8).map(" ".join)


@given(STATEMENTS, st.text(max_size=20), st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_a_statement_is_grounded_in_itself_and_in_what_holds_it(statement: str, before: str, behind: str) -> None:
    """Whatever it names stands in its own words, and in any text around them."""
    assert ungrounded(statement, [statement]) is None
    assert ungrounded(statement, ["", f"{before} {statement} {behind}"]) is None


_WORD = r"[^\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
_SIGNS = st.text("ab-_/.s1中é", min_size=1, max_size=5)


def _stands_by_pattern(sign: str, text: str) -> bool:
    """The rule for a compound name as one pattern, which says what it means and takes long to make."""
    begins, ends = sign[0].isalnum() or sign[0] in "_-", sign[-1].isalnum() or sign[-1] in "_-"
    before = rf"(?<!{_WORD})(?<!{_WORD}-)" if begins else ""
    before = rf"(?<!{_WORD})(?<!-)" if sign[0] == "-" else before
    after = rf"(?!{_WORD})(?!-{_WORD})" if ends else ""
    return re.search(before + re.escape(sign) + after, text) is not None


@given(before=_SIGNS, sign=st.text("abcé", min_size=2, max_size=3), behind=_SIGNS)
def test_a_compound_stands_where_its_pattern_finds_it(before: str, sign: str, behind: str) -> None:
    """Its neighbours decide: a letter, or a hyphen with a letter behind it, makes it a part of another name."""
    compound = f"{sign}_{sign}"
    text = f"{before}{compound}{behind}"
    assert (ungrounded(f"Use `{compound}`", [text]) is None) == _stands_by_pattern(compound, text)
