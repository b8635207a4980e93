"""Shell command lines: what they are for, without what only serves to look at their output."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from memory_pipeline.statements import one_line

COMMAND_MAX_CHARS = 120


class Purpose(StrEnum):
    """What a command is for."""

    TEST = "test"
    BUILD = "build"
    LINT = "lint"
    FORMAT = "format"
    TYPES = "types"
    INSTALL = "install"
    RUN = "run"  # a script, a target or a service of the project
    OTHER = "other"  # does something, but nothing that a next session would repeat
    TRIVIAL = "trivial"  # only looks


#: Purposes whose failing output says so even where a pipe ate the exit code.
CHECKS = frozenset({Purpose.TEST, Purpose.BUILD, Purpose.LINT, Purpose.TYPES})


class Command(Struct, frozen=True, kw_only=True):
    """The one command of a line that matters."""

    text: str  # as typed, without redirections, pipes and what stands around it
    purpose: Purpose
    folder: str  # the relative folder it was run in by ``cd``, "" for the session's
    piped: bool  # its exit code was replaced by that of another command
    once_only: bool  # made up for the moment: code on the command line, a temporary path


def read_command(line: str) -> Command:
    """Find the command of a shell line that says most, the last among equals."""
    line = _unwrapped(line)
    if "<<" in line and re.search(r"<<-?\s*['\"]?\w", line):
        return Command(
            text=one_line(line, COMMAND_MAX_CHARS), purpose=Purpose.OTHER, folder="", piped=False, once_only=True
        )
    folder, best, best_rank = "", None, -1
    parts = _parts(line)
    for index, (text, follows) in enumerate(parts):
        text = _bare(text)  # noqa: PLW2901 - the bare form is what everything below means
        moved = re.fullmatch(r"(?:cd|pushd)\s+(\S+)", text)
        if moved:
            folder = moved[1].strip("'\"").rstrip("/")
            continue
        purpose = purpose_of(text)
        if _RANK[purpose] >= best_rank and text:
            # What a later command's exit code hides, only the output can tell.
            hidden = follows == "|" or any(operator in {";", "||", "\n"} for _, operator in parts[index:-1])
            best_rank = _RANK[purpose]
            best = Command(
                text=one_line(text, COMMAND_MAX_CHARS),
                purpose=purpose,
                folder=folder,
                piped=hidden,
                once_only=_is_made_up(text),
            )
    whole = one_line(line, COMMAND_MAX_CHARS)
    return best or Command(text=whole, purpose=Purpose.TRIVIAL, folder="", piped=False, once_only=False)


def purpose_of(text: str) -> Purpose:
    """Tell what one simple command is for."""
    core = _core(text)
    for purpose, pattern in _PURPOSES:
        if pattern.match(core):
            return purpose
    return Purpose.OTHER


_RANK = {
    Purpose.TRIVIAL: 0,
    Purpose.OTHER: 1,
    Purpose.INSTALL: 2,
    Purpose.FORMAT: 3,
    Purpose.RUN: 4,
    Purpose.LINT: 5,
    Purpose.TYPES: 5,
    Purpose.BUILD: 5,
    Purpose.TEST: 6,
}

_SHELL_WRAP = re.compile(r"^(?:/\S*/)?(?:ba|z|da)?sh\s+-l?c\s+(?P<quote>['\"])(?P<line>.*)(?P=quote)\s*$", re.DOTALL)
_SPLIT = re.compile(
    r"""(?P<quoted>'[^']*'|"(?:[^"\\]|\\.)*"|\\.)|(?P<operator>&&|\|\||;|(?<![>&])\|&?|\n)""", re.DOTALL
)
_REDIRECTION = re.compile(r"\s*(?:\d?>&\d|&>>?\s*\S+|\d?>>?\s*/dev/null|\d?>>?\s*\S+|<\s*/dev/null)")
_WRAPPER = re.compile(
    r"(?:sudo(?:\s+-\w+)*|time|nice(?:\s+-n\s*\d+)?|nohup|command|env|exec|timeout(?:\s+-\S+)*\s+\d+\w?"
    r"|[A-Z_][A-Z0-9_]*=\S*"
    r"|(?:uv|poetry|pdm|hatch|pipenv|rye)\s+run(?:\s+--?(?!m\b)\S+)*|bundle\s+exec|npx(?:\s+-\S+)*"
    r"|pnpm\s+(?:exec|dlx)|yarn\s+exec|bunx|uvx"
    r"|docker\s+compose\s+(?:exec|run)(?:\s+-\S+)*\s+\w[\w-]*|(?:\.?/?[\w.-]+/)*(?:\.?venv|env)/bin/(?=\w))\s*"
)


def _unwrapped(line: str) -> str:
    match = _SHELL_WRAP.match(line.strip())
    return match["line"] if match else line.strip()


def _parts(line: str) -> list[tuple[str, str]]:
    """Split a shell line at its operators, outside quotes: each command with the operator that follows it."""
    parts, start = [], 0
    for match in _SPLIT.finditer(line):
        if match["operator"]:
            parts.append(
                (line[start : match.start()], match["operator"][0] if match["operator"] == "|&" else match["operator"])
            )
            start = match.end()
    parts.append((line[start:], ""))
    return [(text.strip(), operator) for text, operator in parts if text.strip()]


def _bare(text: str) -> str:
    text = text.strip().strip("()").strip()
    text = re.sub(r"^(?:then|do|else|if|while|!)\s+", "", text)
    return _REDIRECTION.sub("", text).rstrip(" &").strip()


def _core(text: str) -> str:
    """The command without what only wraps it: variables, sudo, ``uv run``, a path to the interpreter."""
    while (match := _WRAPPER.match(text)) and match.end() < len(text) and match.end():
        text = text[match.end() :]
    return re.sub(r"^(?:/\S+/)(?=\w)", "", text)


_MADE_UP = re.compile(r"/(?:tmp)/|/var/folders/|/private/|\s-[ce]\s+['\"]|\$\(|`|<<|\b[0-9a-f]{12,}\b|\[REDACTED|…")


def _is_made_up(text: str) -> bool:
    return bool(_MADE_UP.search(text)) or len(text) > COMMAND_MAX_CHARS or text.count("\n") > 0


_PACKAGE_RUN = r"(?:npm|pnpm|yarn|bun)(?:\s+--?\S+)*\s+(?:run\s+|run-script\s+)?"
_PURPOSES = (
    (
        Purpose.TRIVIAL,
        re.compile(
            r"(?:ls|ll|cat|bat|head|tail|less|more|grep|egrep|rg|ag|find|fd|pwd|echo|printf|seq|sleep|true"
            r"|false|which|type|whereis"
            r"|whoami|date|wc|sort|uniq|cut|tr|awk|diff|cmp|file|stat|du|df|tree|ps|top|env|printenv|export"
            r"|set|unset|history|clear"
            r"|cd|pushd|popd|exit|test|\[|read|source|\.|jq|column|nl|xxd|od|hexdump|strings|realpath"
            r"|dirname|basename|uname|id|man"
            r"|sed\s+-n|ss|netstat|lsof|kill|pkill|wait|jobs|tee|yes|mktemp|touch|for|case|function|done|fi"
            r"|esac)(?:\s|$)"
            r"|git\s+(?:-\S+\s+\S+\s+)*(?:status|log|diff|show|branch|blame|remote|rev-parse|ls-files|stash"
            r"|config|grep|describe|reflog|fetch|tag$)"
            r"|\w[\w.-]*\s+(?:--version|-V|-v|--help|-h|help|version)$|(?:pip|npm|uv pip|cargo"
            r"|brew)\s+(?:list|show|freeze|ls|view|info|search)\b"
        ),
    ),
    (
        Purpose.TEST,
        re.compile(
            r"(?:python[\d.]*\s+-m\s+)(?:pytest|unittest|nose2?|doctest|tox|nox)\b|(?:pytest|py\.test|tox"
            r"|nox|rspec|phpunit|ctest|bats|jest"
            r"|vitest|mocha|ava|karma|behave|busted)\b|playwright\s+test|cypress\s+run|cargo\s+(?:nextest"
            r"|test|t\b)|go\s+test|dotnet\s+test|swift\s+test"
            r"|mix\s+test|deno\s+test|rake\s+(?:test|spec)|rails\s+test|hatch\s+test|zig\s+build\s+test"
            r"|node\s+--test|flutter\s+test"
            rf"|{_PACKAGE_RUN}(?:test|tests|t|unit|e2e|spec)(?:[:\w-]*)|(?:make|just|task|invoke"
            r"|inv)\s+(?:\S+\s+)*?(?:test|tests|check|unit|e2e|spec)(?:[-:]\w+)*\b"
            r"|(?:\./)?(?:gradlew|gradle|mvnw|mvn)\s+(?:\S+\s+)*?:?(?:\w+:)*(?:test|check|verify)\b"
            r"|bazel\s+test|(?:python[\d.]*\s+)?\S*manage\.py\s+test"
            r"|(?:python[\d.]*|bash|sh)\s+\S*(?:run_?tests?|test_\w+)\.(?:py|sh)|\S*\.ci/run"
            r"|\./(?:run_?)?tests?(?:\.sh)?(?:\s|$)"
        ),
    ),
    (
        Purpose.TYPES,
        re.compile(
            r"(?:python[\d.]*\s+-m\s+)?(?:mypy|pyright|basedpyright|pytype|pyre|ty\s+check)\b"
            rf"|(?:vue-)?tsc\b.*--noEmit|{_PACKAGE_RUN}(?:type-?check|types|tsc)\b"
            r"|cargo\s+check|(?:make|just)\s+(?:types?|type-?check|mypy)\b|flow\s+check"
        ),
    ),
    (
        Purpose.FORMAT,
        re.compile(
            r"(?:python[\d.]*\s+-m\s+)?(?:ruff\s+format|black|isort|yapf|autopep8)\b|prettier\b|gofmt"
            r"|goimports|cargo\s+fmt|rustfmt|clang-format|shfmt|dprint|biome\s+format"
            rf"|{_PACKAGE_RUN}(?:format|fmt|prettier)[:\w-]*|(?:make|just)\s+(?:fmt|format)\b|mix\s+format"
            r"|terraform\s+fmt"
        ),
    ),
    (
        Purpose.LINT,
        re.compile(
            r"(?:python[\d.]*\s+-m\s+)?(?:ruff|flake8|pylint|pyflakes|bandit|pydocstyle)\b|(?:eslint"
            r"|stylelint|oxlint|biome|standard|golangci-lint|shellcheck|hadolint|yamllint"
            r"|markdownlint|rubocop|swiftlint|ktlint|actionlint)\b|cargo\s+clippy|go\s+vet"
            rf"|{_PACKAGE_RUN}lint[:\w-]*|(?:make|just)\s+(?:\S+\s+)*?lint\b|pre-commit\s+run|lint-imports"
        ),
    ),
    (
        Purpose.BUILD,
        re.compile(
            r"make$|make\s+(?:-j\s*\d*\s*)?(?:build|all|dist|compile)\b|cargo\s+(?:build|b\b)|go\s+build"
            rf"|{_PACKAGE_RUN}(?:build|compile)[:\w-]*|tsc\b|(?:vite|next|webpack|rollup|esbuild|parcel"
            r"|astro|nuxt)\s+build"
            r"|(?:\./)?(?:gradlew|gradle|mvnw|mvn)\s+(?:\S+\s+)*?(?:build|package|assemble|compile"
            r"|install)\w*\b|cmake\b|ninja\b|meson\s+compile|docker\s+(?:compose\s+)?build|docker\s+buildx"
            r"|bazel\s+build"
            r"|(?:hatch|uv|poetry|flit|pdm)\s+build|python[\d.]*\s+-m\s+build|dotnet\s+build|swift\s+build"
            r"|zig\s+build|xcodebuild|just\s+build|mkdocs\s+build|sphinx-build|flutter\s+build|gcc\b|g\+\+"
            r"|clang\b|rustc\b|javac\b"
        ),
    ),
    (
        Purpose.INSTALL,
        re.compile(
            r"uv\s+(?:sync|pip\s+install|add|lock|venv|tool\s+install)"
            r"|(?:python[\d.]*\s+-m\s+)?(?:pip[\d.]*|pipx)\s+install|(?:npm|pnpm|bun)\s+(?:install|ci|i"
            r"|add)\b|yarn(?:\s+(?:install|add)\b|$)"
            r"|poetry\s+(?:install|add|lock)|pdm\s+(?:install|add|sync)|pipenv\s+(?:install|sync)"
            r"|cargo\s+(?:add|install|fetch)|go\s+(?:mod\s+(?:tidy|download)|get|install)|bundle\s+install"
            r"|composer\s+install"
            r"|(?:apt(?:-get)?|brew|dnf|yum|apk|pacman|conda|mamba|gem|choco"
            r"|winget)\s+(?:\S+\s+)*?(?:install|add|-S\w*)\b|pre-commit\s+install"
        ),
    ),
    (
        Purpose.RUN,
        re.compile(
            rf"(?:make|just|task|invoke|inv|rake)\s+[\w.-]+|{_PACKAGE_RUN}(?!install|add|ci\b|init|create"
            rf"|remove|update)[\w:.-]+|(?:bash|sh|zsh)\s+\S+\.sh|\.{{1,2}}/[\w./-]+|(?:scripts?|bin"
            r"|tools)/[\w./-]+"
            r"|python[\d.]*\s+(?:-m\s+[\w.]+|\S+\.py)|(?:node|deno\s+run|bun|tsx|ts-node|ruby|php"
            r"|perl)\s+\S+\.\w+|docker\s+(?:compose\s+)?(?:up|run|push|start|restart)|docker-compose\s+up"
            r"|alembic\s+\w+|prisma\s+\w+|drizzle-kit\s+\w+|flyway\s+\w+|diesel\s+\w+|terraform\s+(?:plan"
            r"|apply|init)|kubectl\s+(?:apply|rollout|delete)|helm\s+(?:install|upgrade)|ansible-playbook"
            r"|fly\s+deploy|vercel|netlify"
            r"|cargo\s+run|go\s+(?:run|generate)|rails\s+\S+|mix\s+\S+|(?:uvicorn|gunicorn|flask|streamlit"
            r"|celery|hypercorn)\s|protoc\b|buf\s+generate|sqlc\s+generate|deploy\S*"
        ),
    ),
)
