"""Which tools, languages and styles are rivals: whoever names two of one family has chosen between them."""

from __future__ import annotations

import re

_FAMILIES = {
    "javascript packages": "npm pnpm yarn bun",
    "python packages": "pip uv poetry pipenv conda pdm",
    "python tests": "pytest unittest nose",
    "javascript tests": "jest vitest mocha ava jasmine",
    "python style": "black yapf autopep8",
    "python lint": "flake8 pylint ruff",
    "javascript style": "prettier biome dprint standardjs",
    "indentation": "tab space 空格 制表符",
    "quotes": "single double 单引号 双引号",
    "history": "rebase merge",
    "database": "postgres postgresql mysql sqlite mongodb mariadb cockroachdb",
    "containers": "docker podman",
    "shell": "bash zsh fish",
    "modules": "cjs esm commonjs",
    "names": "camelcase snakecase snake_case kebab-case 驼峰 下划线",
    "language": "english chinese german french spanish japanese 英文 中文 英语",
    "theme": "dark light",
    "python http": "requests httpx aiohttp urllib urllib3 pycurl",
    "type check": "mypy pyright",
    "bundler": "webpack vite rollup esbuild parcel",
    "spelling": "british american",
    "weekday": "monday tuesday wednesday thursday friday saturday sunday",
    "hosting": "aws gcp azure hetzner digitalocean heroku 阿里云 腾讯云",
    "code hosting": "github gitlab bitbucket gitea",
    "continuous integration": "jenkins travis circleci teamcity",
    "frontend": "react vue svelte angular",
    "store in the browser": "redux zustand pinia vuex mobx jotai",
    "broker": "kafka rabbitmq sqs nats",
    "python web": "flask fastapi django",
    "python logging": "structlog loguru logbook eliot",
    "javascript logging": "winston pino bunyan log4js",
    "python validation": "pydantic marshmallow cerberus voluptuous",
    "javascript validation": "zod yup joi valibot",
    "python templates": "jinja2 mako chameleon genshi",
    "task runner": "tox nox invoke taskfile",
    "dates in javascript": "moment dayjs luxon date-fns",
    "javascript orm": "prisma typeorm sequelize drizzle",
    "tests in the browser": "cypress playwright selenium",
    "monorepo": "nx turborepo lerna",
    "styles": "tailwind bootstrap sass",
}
#: Of these a project uses one: whoever names another says that it took its place.
ONE_OF = frozenset(_FAMILIES) - {"quotes", "names", "language", "theme", "weekday", "modules", "shell", "indentation"}
#: What a tool is one of, in folded case.
FAMILY_OF = {tool: family for family, tools in _FAMILIES.items() for tool in tools.split()}

_NAME = re.compile(r"[a-z][\w.-]*\w", re.ASCII)


def names_rivals(folded: str) -> bool:
    """Whether a text in lower case names two tools of which a project uses one."""
    named = {name for name in _NAME.findall(folded) if FAMILY_OF.get(name) in ONE_OF}
    return len({FAMILY_OF[name] for name in named}) < len(named)


def named_tools(folded: str) -> tuple[str, ...]:
    """Return the tools in a text in lower case of which a project uses one, each once, in their order."""
    return tuple(dict.fromkeys(name for name in _NAME.findall(folded) if FAMILY_OF.get(name) in ONE_OF))


def names_a_tool(folded: str) -> bool:
    """Whether a text in lower case names a tool of which a project uses one."""
    return any(FAMILY_OF.get(name) in ONE_OF for name in _NAME.findall(folded))
