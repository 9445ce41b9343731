"""Commands of the service: the server, and a client that sends one request."""

from __future__ import annotations

import json
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from diopigen.commands.combinations import combinations, excludes, needs
from diopigen.commands.conformance_options import ops_option, with_options
from diopigen.console import Session, spec_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from diopigen.service.suite import Suite

    _Command = TypeVar("_Command", bound=Callable[..., Any])


def _address_options(token: str) -> Callable[[_Command], _Command]:
    return lambda command: with_options(
        command,
        click.option("--socket", "socket_path", metavar="PATH", help="A Unix socket, of this user alone."),
        click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="A port of 127.0.0.1; 0: a free one."),
        click.option("--token-file", metavar="FILE", help=token),
    )


def _one_address(socket_path: str | None, port: int | None) -> None:
    if (socket_path is None) == (port is None):
        raise click.UsageError("name a --socket or a --port")


@click.command()
@_address_options("With --port: the file that the token is written to, for you alone (default: it is printed).")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Requests at once (default: the number of processors).")
@click.option("--queue", type=click.IntRange(0), default=16, show_default=True, help="Requests that wait at most.")
@click.option("--time-limit", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds of a request.")
@click.option("--memory-limit", type=click.IntRange(1), default=8, show_default=True, help="GiB of a request.")
@spec_option
@combinations(excludes("socket_path", "token_file"))
def serve(
    socket_path: str | None,
    port: int | None,
    token_file: str | None,
    jobs: int | None,
    queue: int,
    time_limit: float,
    memory_limit: int,
    session: Session,
) -> None:
    """Test libraries on request, several at once: sources are built, exports, contract and results are checked.

    A request is one line of JSON, and so is each answer; `diopigen submit` sends requests. The server ends with SIGTERM
    or Ctrl-C.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads cannot be copied
    import asyncio

    from diopigen.output.disk import faults
    from diopigen.service.addresses import listening_port, listening_socket
    from diopigen.service.job import run_job
    from diopigen.service.limits import Limits
    from diopigen.service.server import Server
    from diopigen.service.suite import confinement

    _one_address(socket_path, port)
    limits = Limits(jobs or os.cpu_count() or 1, queue, time_limit, memory=memory_limit << 30)
    listener = listening_port(port) if port is not None else listening_socket(Path(str(socket_path)))
    token = secrets.token_urlsafe(32) if port is not None else ""
    if token_file:
        with faults(Path(token_file), "write"):
            Path(token_file).unlink(missing_ok=True)
            with os.fdopen(os.open(token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(token)
    suite = _suite(session)
    limits_in_force = confinement(suite.executor)
    if not limits_in_force:
        raise click.UsageError("this system has no means to confine builds and libraries (docs/executor.md)")
    address = socket_path or "{}:{}".format(*listener.getsockname())
    shown = f"\ntoken {token}" if token and not token_file else ""
    click.echo(f"serving on {address}, {limits.jobs} at once{shown}")
    click.echo(f"confined by: {', '.join(limits_in_force)}")
    sys.stdout.flush()

    def work(*request: Any) -> None:
        run_job(suite, limits, *request)

    try:
        asyncio.run(Server(work, limits, token).serve(listener))
    finally:
        for path in (socket_path, token_file):
            if path:
                Path(path).unlink(missing_ok=True)


def _document(file: str | None) -> dict[str, Any]:
    """The request of a file; empty without one."""
    from diopigen.service.protocol import RequestError, decoded
    from diopigen.spec.text_file import read_regular, unreadable

    if file is None:
        return {}
    try:
        found = decoded(read_regular(Path(file)))
    except RequestError as error:
        raise click.UsageError(f"{file}: {error}") from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{file} {unreadable(error)}") from None
    if not isinstance(found, dict):
        raise click.UsageError(f"{file}: a request is a JSON object")
    return found


def _suite(session: Session) -> Suite:
    """All that requests need, read and built before the first one."""
    from diopigen.conformance.cases.stored import StoredCases
    from diopigen.conformance.oracles import oracles
    from diopigen.conformance.report.credit import weights
    from diopigen.conformance.run.host_runtime import host_runtime
    from diopigen.service import job
    from diopigen.service.suite import suite

    assert job is not None, "its modules are read before the first request as well"
    oracles()
    weights()
    interface = session.load().interface
    runtime = host_runtime(interface, session.workspace().templates)
    return suite(interface, session.small_calls(), StoredCases(interface, session.interface_key).of, str(runtime))


@click.command()
@_address_options("With --port: the file that the server has written the token to.")
@click.option("--request", "request_file", metavar="FILE", help="A request as JSON; the other options replace fields.")
@click.option("--lib", metavar="PATH", help="The library under test.")
@click.option("--source", multiple=True, metavar="FILE", help="A source, in place of a library (may be repeated).")
@click.option("--build", metavar="COMMAND", help="The command that builds the sources, in their folder.")
@click.option("--product", metavar="FILE", help="The library that it writes (libdiopi_impl.so).")
@ops_option
@click.option("--stages", metavar="NAMES", help="Stages, with commas between them (default: all).")
@click.option("--continue", "goes_on", is_flag=True, help="Go on after a stage that failed, for the whole credit.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of values and calls (default: random).")
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Form.")
@combinations(excludes("socket_path", "token_file"), excludes("lib", "source", "build"), needs("build", "source"))
def submit(
    socket_path: str | None,
    port: int | None,
    token_file: str | None,
    request_file: str | None,
    lib: str | None,
    source: tuple[str, ...],
    build: str | None,
    product: str | None,
    ops: tuple[str, ...],
    stages: str | None,
    goes_on: bool,
    seed: int | None,
    output_format: str,
) -> None:
    """Send a library or its sources to `diopigen serve`, and print each stage as it ends.

    Exit codes: 0 passed, 1 failed, 2 the request could not be served.
    """
    from diopigen.service.addresses import connected
    from diopigen.service.client import as_text, events
    from diopigen.spec.text_file import read_text

    _one_address(socket_path, port)
    request = _document(request_file)
    sources = {Path(name).name: read_text(Path(name), name) for name in source}
    fields: Mapping[str, Any] = {
        "library": lib and str(Path(lib).absolute()),
        "sources": sources,
        "build": build,
        "product": product,
        "ops": list(ops),
        "stages": stages and stages.split(","),
        "continue": goes_on,
        "seed": seed,
        "token": read_text(Path(token_file), token_file).strip() if token_file else None,
    }
    request |= {name: value for name, value in fields.items() if value or (value == 0 and value is not False)}
    last: Mapping[str, Any] = {}
    for event in events(connected(Path(socket_path) if socket_path else None, port or 0), request):
        last = event
        if output_format == "json":
            click.echo(json.dumps(event))
        elif text := as_text(event):
            click.echo(text, err=event["event"] == "error")
    sys.exit({"passed": 0, "failed": 1}.get(str(last.get("status")), 2))
