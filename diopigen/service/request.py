"""Requests: the JSON document of a client, checked and completed by the limits of the server."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from diopigen.diagnostics import did_you_mean
from diopigen.service.limits import Limits
from diopigen.service.protocol import RequestError

STAGES = ("build", "exports", "contract", "smoke", "whole", "held-out", "speed")
"""In the order in which they run."""
HELD_OUT = 8
_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Sources:
    """Files by relative path, the command that builds them, and the library that it writes."""

    files: Mapping[str, str]
    build: str
    product: str


@dataclass(frozen=True, slots=True)
class Request:
    """A library, or the sources of one, and the stages that it is tested by."""

    library: str
    """The path of the library; empty where `sources` are built."""
    sources: Sources | None
    runtime: str
    ops: tuple[str, ...]
    stages: tuple[str, ...]
    goes_on: bool
    """True if the stages after one that failed run as well."""
    seed: int
    held_out: int
    time_limit: float
    call_limit: float
    memory_limit: int


def parsed(document: Any, limits: Limits) -> Request:
    """The request of a document. Raises `RequestError` with the position of the first fault."""
    if not isinstance(document, dict):
        raise RequestError("request-invalid", "a request is a JSON object", fix='send {"library": ...}')
    for name in document:
        if name not in _READERS and name != "token":
            fix = did_you_mean(name, list(_READERS)) or f"fields: {', '.join(_READERS)}"
            raise RequestError("request-invalid", f"there is no field '{name}'", name, fix)
    values = {name: read(document.get(name), name) for name, read in _READERS.items()}
    sources, library = _sources(values), values["library"]
    if (sources is None) == (not library):
        message = "a request has either a library or sources"
        raise RequestError("request-invalid", message, "library", "name a library, or send sources, build and product")
    stages = values["stages"] or (STAGES if sources else STAGES[1:])
    if "build" in stages and not sources:
        raise RequestError("request-invalid", "there is nothing to build", "stages", "send sources")
    time_limit, call_limit, memory = _bounded(values["limits"], limits)
    return Request(
        library, sources, values["runtime"], values["ops"], tuple(one for one in STAGES if one in stages),
        values["continue"], values["seed"], values["held_out"], time_limit, call_limit, memory,
    )  # fmt: skip


def _sources(values: Mapping[str, Any]) -> Sources | None:
    files, build, product = values["sources"], values["build"], values["product"]
    if not files:
        for name in ("build", "product"):
            if values[name]:
                raise RequestError("request-invalid", f"'{name}' is for sources, and there are none", name)
        return None
    if not build:
        raise RequestError("request-invalid", "sources need the command that builds them", "build")
    return Sources(files, build, product or "libdiopi_impl.so")


def _bounded(asked: Mapping[str, float], limits: Limits) -> tuple[float, float, int]:
    largest = {"time": limits.time, "call": limits.call_time, "memory": limits.memory / (1 << 30)}
    for name, value in asked.items():
        position = f"limits.{name}"
        if name not in largest:
            raise RequestError("request-invalid", f"there is no limit '{name}'", position, "time, call or memory")
        if value > largest[name]:
            message = f"the server allows at most {largest[name]:g}"
            raise RequestError("request-invalid", message, position, "ask for less, or start the server with more")
    found = {**largest, **asked}
    return found["time"], found["call"], int(found["memory"] * (1 << 30))


def _text(value: Any, position: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value or "\0" in value or len(value) > _LONGEST_PATH:
        raise _wrong(position, f"a text of 1 to {_LONGEST_PATH} characters without NUL")
    return value


def _path(value: Any, position: str) -> str:
    text = _text(value, position)
    if text and not PurePosixPath(text).is_absolute():
        raise _wrong(position, "an absolute path: the server runs in another folder")
    return text


def _inner_path(value: Any, position: str) -> str:
    text = _text(value, position)
    path = PurePosixPath(text)
    if text and (path.is_absolute() or ".." in path.parts or str(path) in (".", "")):
        raise _wrong(position, "a relative path without '..'")
    return str(path) if text else ""


def _files(value: Any, position: str) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not value:
        raise _wrong(position, "an object of file names and contents")
    for name, content in value.items():
        _inner_path(name, f"{position}.{name}")
        if not isinstance(content, str) or any("\ud800" <= one <= "\udfff" for one in content):
            raise _wrong(f"{position}.{name}", "the text of the file")
    return {str(PurePosixPath(name)): content for name, content in value.items()}


def _texts(value: Any, position: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _wrong(position, "a list")
    return tuple(_text(item, f"{position}[{index}]") for index, item in enumerate(value))


def _stages(value: Any, position: str) -> Sequence[str]:
    names = _texts(value, position)
    for index, name in enumerate(names):
        if name not in STAGES:
            fix = did_you_mean(name, STAGES) or f"stages: {', '.join(STAGES)}"
            raise RequestError("request-invalid", f"there is no stage '{name}'", f"{position}[{index}]", fix)
    return names


def _bool(value: Any, position: str) -> bool:
    if value not in (None, True, False):
        raise _wrong(position, "true or false")
    return bool(value)


def _seed(value: Any, position: str) -> int:
    if value is None:
        return secrets.randbits(48)
    return _whole(value, position, 0, (1 << 63) - 1)


def _count(value: Any, position: str) -> int:
    return HELD_OUT if value is None else _whole(value, position, 1, 1000)


def _whole(value: Any, position: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise _wrong(position, f"a whole number from {low} to {high}")
    return value


def _limits(value: Any, position: str) -> Mapping[str, float]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(position, "an object with time, call or memory")
    for name, number in value.items():
        if type(number) not in (int, float) or not 0 < number < float("inf"):
            raise _wrong(f"{position}.{name}", "a number above 0")
    return value


def _wrong(position: str, expected: str) -> RequestError:
    return RequestError("request-invalid", f"'{position}' is not {expected}", position)


_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "library": _path,
    "sources": _files,
    "build": _text,
    "product": _inner_path,
    "runtime": _path,
    "ops": _texts,
    "stages": _stages,
    "continue": _bool,
    "seed": _seed,
    "held_out": _count,
    "limits": _limits,
}
"""The fields of a request, and how each is checked; absent ones are None."""
