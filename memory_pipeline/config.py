"""The configuration: one frozen record a TOML table, every key with its default, checked on reading."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from memory_pipeline.errors import ConfigError
from memory_pipeline.kinds import Agent, Source

CONFIG_ENV = "MEMORY_PIPELINE_CONFIG"
STATE_DIR_ENV = "MEMORY_PIPELINE_STATE_DIR"
APP_NAME = "memory-pipeline"
JOURNAL_FILE = "journal.jsonl"

#: The variable with which each agent itself moves its home, and the default for which that variable stands in.
AGENT_HOMES: Mapping[Agent, tuple[str, str]] = {
    Agent.CODEX: ("CODEX_HOME", "~/.codex"),
    Agent.CLAUDE: ("CLAUDE_CONFIG_DIR", "~/.claude"),
}


#: Providers, as Codex names them in its logs, that run the model on the person's own machine.
LOCAL_MODEL_PROVIDERS = frozenset(
    {"ollama", "lmstudio", "lm-studio", "llamacpp", "llama.cpp", "oss", "vllm", "mlx", "local"}
)


class SettingsConfig(Struct, frozen=True, kw_only=True):
    """The two main switches."""

    generate_memories: bool = True
    use_memories: bool = True


class SourceConfig(Struct, frozen=True, kw_only=True):
    """One agent's logs. ``home`` is resolved when the configuration is loaded."""

    enabled: bool = True
    home: str = ""


class SourcesConfig(Struct, frozen=True, kw_only=True):
    """Whose logs are read."""

    codex: SourceConfig = field(default_factory=lambda: SourceConfig(home="~/.codex"))
    claude: SourceConfig = field(default_factory=lambda: SourceConfig(home="~/.claude"))

    def of(self, agent: Agent) -> SourceConfig:
        """Return the table of one agent; what stands in our own journal has none, and no home."""
        return {Agent.CODEX: self.codex, Agent.CLAUDE: self.claude}.get(agent, SourceConfig())


class GatesConfig(Struct, frozen=True, kw_only=True):
    """Which sessions are extracted, and when."""

    sources: tuple[str, ...] = ("interactive",)
    idle_seconds: float = 900
    min_duration_seconds: float = 30
    min_result_chars: int = 200
    max_age_days: float = 30
    max_rollout_bytes: int = 2_147_483_648
    include_archived: bool = False
    external_context: str = "withhold"
    min_rate_limit_remaining_percent: float = 20


class ModelConfig(Struct, frozen=True, kw_only=True):
    """Who writes the text."""

    provider: str = "deterministic"
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    wire_api: str = "responses"
    extract_model: str = ""
    consolidation_model: str = ""
    context_window_tokens: int = 200_000
    timeout_seconds: float = 120
    send_local_model_sessions: bool = False

    @property
    def is_paid(self) -> bool:
        """Whether calls cost money or quota: every call through provider openai."""
        return self.provider == "openai"

    @property
    def curating_model(self) -> str:
        """The model of phase two."""
        return self.consolidation_model or self.extract_model

    @property
    def curating_model_key(self) -> str:
        """The key that names it."""
        return "model.consolidation_model" if self.consolidation_model else "model.extract_model"

    @property
    def is_remote(self) -> bool:
        """Whether words leave this machine: provider openai whose base_url is not loopback."""
        return self.is_paid and not is_loopback(self.base_url)

    def may_send(self, model_provider: str | None) -> bool:
        """Whether words of a session that ran on a model of this provider may be sent to ours."""
        ran_locally = (model_provider or "").lower() in LOCAL_MODEL_PROVIDERS
        return not (ran_locally and self.is_remote and not self.send_local_model_sessions)


class Phase1Config(Struct, frozen=True, kw_only=True):
    """Limits of phase one."""

    max_jobs_per_run: int = 64
    concurrency: int = 8
    lease_seconds: float = 120
    max_attempts: int = 5
    backoff_base_seconds: float = 60
    backoff_max_seconds: float = 21_600
    max_requests_per_job: int = 6
    max_tokens_per_job: int = 600_000
    max_seconds_per_job: float = 600


class ReviewConfig(Struct, frozen=True, kw_only=True):
    """What a person sees before it counts."""

    mode: str = "policy"
    max_pending: int = 500
    max_pending_days: float = 90
    defer_days: float = 14
    collaborator: str = ""
    collaborator_timeout_seconds: float = 20
    collaborator_max_drafts: int = 10


class Phase2Config(Struct, frozen=True, kw_only=True):
    """Limits of phase two."""

    max_candidates: int = 256
    max_unused_days: float = 30
    extension_retention_days: float = 30
    cooldown_seconds: float = 0
    summary_max_bytes: int = 9_999
    memory_max_bytes: int = 100_000
    curator: str = "model"
    curator_max_turns: int = 30
    curator_max_requests: int = 60
    curator_max_tokens: int = 400_000
    curator_max_seconds: float = 600


class BudgetConfig(Struct, frozen=True, kw_only=True):
    """Caps on paid tokens; 0 is no cap."""

    daily_tokens: int = 0
    weekly_tokens: int = 0
    project_daily_tokens: int = 0
    project_weekly_tokens: int = 0


class DaemonConfig(Struct, frozen=True, kw_only=True):
    """When the daemon runs."""

    schedule: str = "*/15 * * * *"
    jitter_seconds: float = 30


class LoggingConfig(Struct, frozen=True, kw_only=True):
    """The log file in the state folder."""

    file: bool = True
    level: str = "info"
    max_bytes: int = 1_000_000
    keep: int = 5


class MetricsConfig(Struct, frozen=True, kw_only=True):
    """Figures for Prometheus. ``textfile`` is absolute once loaded; "" for none."""

    textfile: str = ""


class McpConfig(Struct, frozen=True, kw_only=True):
    """What the server for agents may do."""

    allow_notes: bool = False
    every_project: bool = False


class Config(Struct, frozen=True, kw_only=True):
    """Everything that can be set. Paths are absolute once loaded; ``path`` is None for the built-in defaults."""

    state_dir: str = ""
    memories_dir: str = ""
    settings: SettingsConfig = field(default_factory=SettingsConfig)
    sources: SourcesConfig = field(default_factory=SourcesConfig)
    gates: GatesConfig = field(default_factory=GatesConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    phase1: Phase1Config = field(default_factory=Phase1Config)
    review: ReviewConfig = field(default_factory=ReviewConfig)
    phase2: Phase2Config = field(default_factory=Phase2Config)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    daemon: DaemonConfig = field(default_factory=DaemonConfig)
    logging: LoggingConfig = field(default_factory=LoggingConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    mcp: McpConfig = field(default_factory=McpConfig)
    path: str | None = None
    written: frozenset[str] = frozenset()  # keys that stand in the file

    @property
    def state_path(self) -> Path:
        """The state folder."""
        return Path(self.state_dir)

    @property
    def workspace_path(self) -> Path:
        """The memory workspace."""
        return Path(self.memories_dir)

    @property
    def database_path(self) -> Path:
        """The SQLite database."""
        return self.state_path / "memory.db"

    @property
    def journal_path(self) -> Path:
        """Our own log of what the person did to the memories."""
        return self.state_path / JOURNAL_FILE

    @property
    def daemon_lock_path(self) -> Path:
        """The lock of the one daemon that works for this state folder."""
        return self.state_path / "daemon.lock"

    @property
    def packets_path(self) -> Path:
        """Sessions as readable packets."""
        return self.state_path / "packets"

    @property
    def draft_files_path(self) -> Path:
        """The drafts of each session, to be read and decided about in files."""
        return self.state_path / "memory-drafts"

    @property
    def sync_lists_path(self) -> Path:
        """What of each session is approved and ready."""
        return self.state_path / "sync-lists"

    @property
    def tombstones_path(self) -> Path:
        """What was forgotten, as hashes."""
        return self.state_path / "tombstones"

    @property
    def backups_path(self) -> Path:
        """The backups that are made after consolidations."""
        return self.state_path / "backups"

    @property
    def users_path(self) -> Path:
        """The state folders of the other users of a server, one each."""
        return self.state_path / "users"

    @property
    def server_path(self) -> Path:
        """What a server keeps for itself: hashes of tokens."""
        return self.state_path / "server"

    @property
    def set_aside_path(self) -> Path:
        """Damaged databases, and what a restored backup took the place of."""
        return self.state_path / "set-aside"

    @property
    def restoring_path(self) -> Path:
        """What is about to be restored, whole; there is none but in between."""
        return self.state_path / "restoring"


def load_config(
    explicit_path: str | None = None,
    explicit_state_dir: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Find, read and check the configuration.

    Looked for in this order: ``explicit_path`` (--config), ``MEMORY_PIPELINE_CONFIG``, the user's configuration
    folder, the built-in defaults. Never the working directory: a stranger's repository must not configure us.

    Raises:
        ConfigError: the file is missing, unreadable, not TOML, has an unknown key or a value that does not fit.
    """
    environ = os.environ if environ is None else environ
    path = _find_config(explicit_path, environ)
    config = Config() if path is None else parse_config(_read(path), path)
    return _resolve_paths(config, explicit_state_dir, environ)


def parse_config(text: str, path: Path) -> Config:
    """Read TOML text into a checked configuration whose paths are still as written.

    Raises:
        ConfigError: not TOML, an unknown key, or a value that does not fit; the message names file and key.
    """
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    config: Config = _read_table(Config, table, "", path)
    _check_values(config, path)
    return replace(config, path=str(path), written=frozenset(_written_keys(table)))


def checked_value(dotted: str, value: Any, origin: str) -> Any:
    """Return the value of one key if it may stand in a configuration by itself; a list becomes a tuple.

    Raises:
        ConfigError: it does not fit; the message begins with ``origin``.
    """
    checked = _checked_value(_kind_of(dotted), value, dotted, origin)
    _check_values(with_values(Config(), {dotted: checked}), origin)
    return checked


def value_of_text(dotted: str, text: str) -> Any:
    """Read a value as somebody types it: true, on, off, a number, a list with commas. What is none of it stays text."""
    kind = _kind_of(dotted)
    if kind is bool:
        return {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}.get(
            text.strip().lower(), text
        )
    if get_origin(kind) is tuple:
        return [item.strip() for item in text.split(",") if item.strip()]
    if kind in (int, float):
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text


def with_values(config: Config, values: Mapping[str, Any]) -> Config:
    """Return a configuration in which these keys of its tables have these values; they were checked before."""
    tables: dict[str, dict[str, Any]] = {}
    for dotted, value in values.items():
        table, _, key = dotted.rpartition(".")
        tables.setdefault(table, {})[key] = value
    whole = tables.pop("", {})
    changed = {name: replace(value_in(config, name), **keys) for name, keys in tables.items()}
    return replace(config, **whole, **changed)


def value_in(config: Config, dotted: str) -> Any:
    """Return the value of one key.

    Raises:
        AttributeError: there is no such key.
    """
    value: Any = config
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


def user_config_path() -> Path:
    """Where the user's own configuration is looked for."""
    import platformdirs

    return Path(platformdirs.user_config_dir(APP_NAME, appauthor=False)) / "config.toml"


def default_state_dir() -> Path:
    """Where state lives when no configuration names a folder."""
    import platformdirs

    return Path(platformdirs.user_state_dir(APP_NAME, appauthor=False))


def is_loopback(base_url: str) -> bool:
    """Whether a server address stays on this machine. The library's default address ("") does not."""
    import ipaddress

    host = (urlsplit(base_url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_default_home(agent: Agent, config: Config) -> bool:
    """Whether an agent's home is where the agent itself keeps it unless told otherwise."""
    return config.sources.of(agent).home == str(Path(AGENT_HOMES[agent][1]).expanduser())


@cache
def key_names(record: type[Struct] = Config, prefix: str = "") -> tuple[str, ...]:
    """List every key that a configuration file may hold, dotted, in the order of the file."""
    names: list[str] = []
    hints = get_type_hints(record)
    for name in _keys_of(record):
        if _is_table(hints[name]):
            names.extend(key_names(hints[name], f"{prefix}{name}."))
        else:
            names.append(f"{prefix}{name}")
    return tuple(names)


def as_table(config: Struct) -> dict[str, Any]:
    """Return a configuration as nested plain values, without what is not a key of the file."""
    table: dict[str, Any] = {}
    for name in _keys_of(type(config)):
        value = getattr(config, name)
        if isinstance(value, Struct):
            table[name] = as_table(value)
        else:
            table[name] = list(value) if isinstance(value, tuple) else value
    return table


#: What a configuration knows beside its keys.
_NO_KEYS = frozenset({"path", "written"})


def _keys_of(record: type[Struct]) -> tuple[str, ...]:
    """Return the keys of a table, in the order of the file."""
    return tuple(name for name in record.__struct_fields__ if record is not Config or name not in _NO_KEYS)


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _written_keys(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _written_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _kind_of(dotted: str) -> Any:
    kind: Any = Config
    for part in dotted.split("."):
        kind = get_type_hints(kind)[part]
    return kind


def _find_config(explicit_path: str | None, environ: Mapping[str, str]) -> Path | None:
    for origin, name in (("--config", explicit_path), (CONFIG_ENV, environ.get(CONFIG_ENV))):
        if name:
            path = _expanded(name, origin).absolute()
            if not _is_file(path, origin):
                raise ConfigError(f"{origin}: there is no file {path}; name an existing config.toml")
            return path
    path = user_config_path()
    return path if _is_file(path, "the user's configuration") else None


def _is_file(path: Path, origin: str) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise ConfigError(f"{origin}: {path} can't be looked at: {error.strerror or error}") from error


def _expanded(written: str, origin: str) -> Path:
    """Return a path with ``~`` replaced by the home that it stands for."""
    try:
        return Path(written).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{origin}: {written!r} names the home of somebody who has none here") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror or error}") from error


def _read_table(record: type[Struct], table: Mapping[str, Any], prefix: str, path: Path) -> Any:
    known = _keys_of(record)
    hints = get_type_hints(record)
    default = record()
    values: dict[str, Any] = {}
    for key, value in table.items():
        dotted = f"{prefix}{key}"
        if key not in known:
            raise ConfigError(f"{path}: unknown key {dotted}{_nearest(dotted, prefix, known)}")
        kind = hints[key]
        if not _is_table(kind):
            values[key] = _checked_value(kind, value, dotted, path)
        elif isinstance(value, Mapping):
            values[key] = _read_table(kind, value, f"{dotted}.", path)
            if isinstance(values[key], SourceConfig) and not values[key].home:
                values[key] = replace(values[key], home=getattr(default, key).home)
        else:
            raise ConfigError(f"{path}: {dotted} is a table, write [{dotted}] and its keys below it")
    return record(**values)


def nearest_key(dotted: str, known: Collection[str]) -> str | None:
    """Return which of the known keys somebody who wrote ``dotted`` means most likely."""
    import difflib

    tail = dotted.rsplit(".", 1)[-1]
    near = [name for name in known if name.rsplit(".", 1)[-1] == tail]
    near = near or difflib.get_close_matches(dotted, known, n=1, cutoff=0.5)
    tails = {name.rsplit(".", 1)[-1]: name for name in known}
    near = near or [tails[found] for found in difflib.get_close_matches(tail, tails, n=1, cutoff=0)]
    return near[0] if near else None


def _nearest(dotted: str, prefix: str, names: Collection[str]) -> str:
    import difflib

    known = key_names()
    tail = dotted.rsplit(".", 1)[-1]
    near = (
        [name for name in known if name.rsplit(".", 1)[-1] == tail]  # the right key in the wrong table
        or difflib.get_close_matches(dotted, known, n=1, cutoff=0.5)
        or difflib.get_close_matches(dotted, [f"{prefix}{name}" for name in names], n=1, cutoff=0)
    )
    return f"; the nearest known key is {near[0]}" if near else f"; known keys are {', '.join(known)}"


def _checked_value(kind: Any, value: Any, dotted: str, path: Path | str) -> Any:
    if get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ConfigError(f"{path}: {dotted} must be a list of strings, not {value!r}")
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ConfigError(f"{path}: {dotted} must be a finite number, not {value!r}")
        return value
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str):
        if "\0" in value:
            raise ConfigError(f"{path}: {dotted} holds a NUL character")
        return value
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    wanted = " or ".join(names.get(item, str(item)) for item in kinds)
    raise ConfigError(f"{path}: {dotted} must be {wanted}, not {value!r}")


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "gates.external_context": ("include", "withhold", "skip"),
    "model.provider": ("deterministic", "openai"),
    "model.wire_api": ("responses", "chat"),
    "review.mode": ("off", "policy", "manual"),
    "phase2.curator": ("model", "rules"),
    "logging.level": ("debug", "info", "warning", "error"),
}
_AT_LEAST: Mapping[str, float] = {
    "gates.idle_seconds": 0,
    "gates.min_duration_seconds": 0,
    "gates.min_result_chars": 0,
    "gates.max_age_days": 0,
    "gates.max_rollout_bytes": 1,
    "gates.min_rate_limit_remaining_percent": 0,
    "model.context_window_tokens": 4_000,
    "model.timeout_seconds": 0.1,
    "phase1.max_jobs_per_run": 1,
    "phase1.concurrency": 1,
    "phase1.lease_seconds": 1,
    "phase1.max_attempts": 1,
    "phase1.backoff_base_seconds": 0,
    "phase1.backoff_max_seconds": 0,
    "review.max_pending": 1,
    "review.max_pending_days": 1,
    "review.defer_days": 0,
    "phase1.max_requests_per_job": 1,
    "phase1.max_tokens_per_job": 20_000,
    "phase1.max_seconds_per_job": 1,
    "review.collaborator_timeout_seconds": 0.1,
    "review.collaborator_max_drafts": 1,
    "phase2.max_candidates": 1,
    "phase2.max_unused_days": 0,
    "phase2.extension_retention_days": 0,
    "phase2.cooldown_seconds": 0,
    "phase2.summary_max_bytes": 500,
    "phase2.memory_max_bytes": 2_000,
    "phase2.curator_max_turns": 1,
    "phase2.curator_max_requests": 1,
    "phase2.curator_max_tokens": 1_000,
    "phase2.curator_max_seconds": 1,
    "budget.daily_tokens": 0,
    "budget.weekly_tokens": 0,
    "budget.project_daily_tokens": 0,
    "budget.project_weekly_tokens": 0,
    "daemon.jitter_seconds": 0,
    "logging.max_bytes": 10_000,
    "logging.keep": 1,
}


def _check_values(config: Config, path: Path | str) -> None:
    for dotted, choices in _CHOICES.items():
        if value_in(config, dotted) not in choices:
            raise ConfigError(f"{path}: {dotted} must be one of {', '.join(choices)}, not {value_in(config, dotted)!r}")
    for dotted, least in _AT_LEAST.items():
        if value_in(config, dotted) < least:
            raise ConfigError(f"{path}: {dotted} must be at least {least:g}, not {value_in(config, dotted)!r}")
    if config.gates.min_rate_limit_remaining_percent > 100:
        raise ConfigError(f"{path}: gates.min_rate_limit_remaining_percent must be at most 100")
    known = [source.value for source in Source if source not in (Source.OWN, Source.SUBAGENT)]
    for source in config.gates.sources:
        if source not in known:
            raise ConfigError(f"{path}: gates.sources holds {source!r}; it may hold {', '.join(known)}")
    if config.model.provider == "openai" and not config.model.extract_model:
        raise ConfigError(f'{path}: model.provider is "openai", so model.extract_model must name a model')
    _check_base_url(config.model.base_url, path)
    import shlex

    try:
        shlex.split(config.review.collaborator)
    except ValueError as error:
        raise ConfigError(f"{path}: review.collaborator is no command line: {error}") from error


def _check_base_url(base_url: str, path: Path | str) -> None:
    if not base_url:
        return
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{path}: model.base_url must be an http or https address, not {base_url!r}")


def _resolve_paths(config: Config, explicit_state_dir: str | None, environ: Mapping[str, str]) -> Config:
    base = Path(config.path).parent if config.path else None
    state_dir = _resolve_state_dir(config.state_dir, base, explicit_state_dir, environ)
    memories_dir = _below(base, config.memories_dir, "memories_dir") if config.memories_dir else state_dir / "memories"
    _check_memories_dir(memories_dir, state_dir)
    _check_is_no_others(state_dir)
    sources = SourcesConfig(
        codex=_resolve_home(config.sources.codex, Agent.CODEX, base, environ),
        claude=_resolve_home(config.sources.claude, Agent.CLAUDE, base, environ),
    )
    textfile = config.metrics.textfile
    metrics = MetricsConfig(textfile=str(_below(base, textfile, "metrics.textfile").absolute()) if textfile else "")
    return replace(config, state_dir=str(state_dir), memories_dir=str(memories_dir), sources=sources, metrics=metrics)


#: Folders of ours in the state folder.
_STATE_FOLDERS = (
    *("baseline", "baseline.new", "baseline.old", "staging", "replaced", "kept", "tombstones"),
    *("backups", "set-aside", "restoring", "logs", "packets", "memory-drafts", "sync-lists", "users", "server"),
)


def _check_memories_dir(memories_dir: Path, state_dir: Path) -> None:
    kept_apart = [state_dir / name for name in _STATE_FOLDERS]
    if memories_dir == state_dir or memories_dir in state_dir.parents:
        raise ConfigError(f"memories_dir: {memories_dir} holds the state folder {state_dir}; name a folder of its own")
    if any(memories_dir == folder or folder in memories_dir.parents for folder in kept_apart):
        raise ConfigError(f"memories_dir: {memories_dir} is used for other files of ours; name a folder of its own")


def _check_is_no_others(state_dir: Path) -> None:
    """Refuse the state of another user of a server: a command would read the sessions of whoever calls it into it."""
    owners = Config(state_dir=str(state_dir.parent.parent))
    if state_dir.parent == owners.users_path and owners.server_path.is_dir():
        raise ConfigError(
            f"state_dir: {state_dir} is what a server keeps for {state_dir.name}; ask the server with a token of theirs"
        )


def _resolve_state_dir(written: str, base: Path | None, explicit: str | None, environ: Mapping[str, str]) -> Path:
    for origin, override in (("--state-dir", explicit), (STATE_DIR_ENV, environ.get(STATE_DIR_ENV))):
        if override:
            return _expanded(override, origin).absolute()
    if written:
        return _below(base, written, "state_dir")
    return default_state_dir()


def _resolve_home(source: SourceConfig, agent: Agent, base: Path | None, environ: Mapping[str, str]) -> SourceConfig:
    variable, default = AGENT_HOMES[agent]
    moved = environ.get(variable)
    if source.home == default and moved:
        return replace(source, home=str(_expanded(moved, variable).absolute()))
    return replace(source, home=str(_below(base, source.home, f"sources.{agent.value}.home")))


def _below(base: Path | None, written: str, origin: str) -> Path:
    path = _expanded(written, origin)
    return path if path.is_absolute() or base is None else Path(os.path.normpath(base / path))
