"""The commands of the server: serve, its tokens, and links that log in at its page."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place
from memory_pipeline.cli.signals import stoppable
from memory_pipeline.config import Config
from memory_pipeline.errors import ServiceError, UsageError

if TYPE_CHECKING:
    import socket

    from memory_pipeline.web.keys import Keys

DEFAULT_PORT = 8484

_USER_OPTION = click.option(
    "--user", required=True, metavar="NAME", help="Whose: owner is you, any other name has a state of its own."
)


@click.group(invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True, help="0 takes any free one."
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name this server goes by; may be repeated."
)
@click.option(
    "--allow-remote", is_flag=True, help="Listen also where other machines can reach it. There is no encryption."
)
@click.pass_context
def serve(ctx: click.Context, *, host: str, port: int, hosts: tuple[str, ...], allow_remote: bool) -> int | None:
    """Serve memories, settings and tasks over HTTP, and a page, until a signal asks to stop.

    Exit codes: 0 stopped, 1 the address can't be used, 2 wrong usage or the extra `web` is not installed.
    """
    if ctx.invoked_subcommand is not None:
        return None
    place: Place = ctx.obj
    _check_installed(place)
    from memory_pipeline.cli.logs import log_to_stderr
    from memory_pipeline.web.server import build_server, run_server

    log_to_stderr(logging.INFO)
    # What goes wrong in the server itself is told by uvicorn alone.
    logging.getLogger("uvicorn").handlers[:] = logging.getLogger("memory_pipeline").handlers
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    config = place.load()
    with _listening(host, port, allow_remote=allow_remote) as listener, stoppable() as stop:
        app = build_server(config, hosts=[*hosts, host], stop=stop)
        address = _address_of(listener)
        click.echo(f"Listening on {address}; its interface is described at {address}/openapi.json")
        _print_link(config, address, "owner")
        run_server(app, listener, stop=stop)
    return EXIT_DONE


@serve.command("link")
@click.option("--user", default="owner", show_default=True, metavar="NAME", help="Whom it logs in.")
@click.option(
    "--address", default=f"http://127.0.0.1:{DEFAULT_PORT}", show_default=True, help="Where the server listens."
)
@click.pass_obj
def serve_link(place: Place, *, user: str, address: str) -> int:
    """Print a link that logs in at the page, once, within an hour."""
    config = place.load()
    _user_name(config, user)
    _print_link(config, address.rstrip("/"), user)
    return EXIT_DONE


@serve.group("token")
def token() -> None:
    """Make, list and revoke the tokens by which programs are let in."""


@token.command("create")
@_USER_OPTION
@JSON_OPTION
@click.pass_obj
def token_create(place: Place, *, user: str, as_json: bool) -> int:
    """Make a token for a user, and the user where there is none. It is shown this once."""
    import time

    from memory_pipeline.cli import output
    from memory_pipeline.web.keys import token_document
    from memory_pipeline.web.users import Users

    config = place.load()
    name = Users(config).make(user).name
    made, secret = _keys(config).create(name, now=time.time())
    if as_json:
        output.print_json({**token_document(made), "token": secret})
        return EXIT_DONE
    output.say(f"token {made.token_id} of {name}; it is shown this once, only a hash of it is kept")
    click.echo(secret)
    return EXIT_DONE


@token.command("list")
@click.option("--user", metavar="NAME", help="Only those of one user.")
@JSON_OPTION
@click.pass_obj
def token_list(place: Place, *, user: str | None, as_json: bool) -> int:
    """List the tokens, without what only their holders know."""
    from memory_pipeline.cli import output
    from memory_pipeline.web.keys import token_document

    found = _keys(place.load()).tokens(user)
    if as_json:
        output.print_json([token_document(one) for one in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No tokens. `{place.command('serve token create --user NAME')}` makes one.")
        return EXIT_DONE
    rows = [(one.token_id, one.user, output.short_time(one.created_at)) for one in found]
    output.print_table(("token", "user", "made"), rows, flexible=["user"])
    return EXIT_DONE


@token.command("revoke")
@click.argument("token_id", metavar="TOKEN-ID")
@_USER_OPTION
@click.pass_obj
def token_revoke(place: Place, *, token_id: str, user: str) -> int:
    """Take a token back: the next request with it is refused, also by a server that runs."""
    from memory_pipeline.cli import output

    _keys(place.load()).revoke(token_id, user=user)
    output.say(f"token {token_id} of {user} is revoked")
    return EXIT_DONE


def _check_installed(place: Place) -> None:
    import importlib.util

    missing = [name for name in ("starlette", "uvicorn", "jinja2") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"serve needs {', '.join(missing)}, which comes with the extra `web`: "
            "pipx install 'memory-pipeline[web]', or in a checkout .venv/bin/pip install -e '.[web]'; "
            f"then `{place.command('serve')}` again"
        )


def _listening(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """Return a socket that listens.

    Raises:
        UsageError: other machines can reach it there, and that is not meant.
        ServiceError: the address can't be used.
    """
    import ipaddress
    import socket

    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host: {host} is no address of this machine ({error})") from error
    if not ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback and not allow_remote:
        raise UsageError(
            f"--host: other machines can reach {host}, and whoever listens on the way reads tokens and memories. Put a "
            "server that encrypts before this one and let it ask 127.0.0.1, or add --allow-remote, and --allow-host "
            "with the name it is called by"
        )
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ServiceError(
            f"{host}:{port}: can't listen there: {error.strerror or error}; name another --port"
        ) from error
    return listener


def _address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _print_link(config: Config, address: str, user: str) -> None:
    import time

    code = _keys(config).create_link(user, now=time.time())
    click.echo(f"To log in as {user}, once, within an hour: {address}/login?code={code}")


def _user_name(config: Config, name: str) -> str:
    from memory_pipeline.web.users import Users

    if Users(config).get(name) is None:
        raise UsageError(f"--user: there is no user {name}; `memory-pipeline serve token create --user NAME` makes one")
    return name


def _keys(config: Config) -> Keys:
    from memory_pipeline.web.keys import keys_of

    return keys_of(config)
