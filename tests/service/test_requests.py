"""Requests as documents: complete ones, and the position of a fault."""

from __future__ import annotations

from typing import Any

import pytest

from diopigen.service.limits import Limits
from diopigen.service.protocol import RequestError, decoded
from diopigen.service.request import STAGES, parsed

LIMITS = Limits(time=100.0, memory=4 << 30)
LIBRARY = {"library": "/of/a/client/libdiopi_impl.so"}
SOURCES = {"sources": {"a.c": "int a;"}, "build": "cc -shared a.c -o libdiopi_impl.so"}


def test_a_library_is_tested_in_all_stages_but_build_within_the_limits_of_the_server() -> None:
    request = parsed(LIBRARY, LIMITS)
    assert request.stages == STAGES[1:] and not request.goes_on
    assert (request.time_limit, request.call_limit, request.memory_limit) == (100.0, 20.0, 4 << 30)
    assert parsed(LIBRARY, LIMITS).seed != request.seed


def test_sources_are_built_first_and_stages_run_in_their_order() -> None:
    request = parsed({**SOURCES, "stages": ["whole", "build"], "seed": 7, "limits": {"time": 2}}, LIMITS)
    assert request.stages == ("build", "whole")
    assert request.sources is not None and request.sources.product == "libdiopi_impl.so"
    assert (request.seed, request.time_limit) == (7, 2)


@pytest.mark.parametrize(
    ("document", "position"),
    [
        ([], ""),
        ({}, "library"),
        ({**LIBRARY, **SOURCES}, "library"),
        ({**LIBRARY, "opps": []}, "opps"),
        ({"library": "libdiopi_impl.so"}, "library"),
        ({"library": "/of/a\0b"}, "library"),
        ({**LIBRARY, "build": "make"}, "build"),
        ({"sources": {"a.c": ""}}, "build"),
        ({**SOURCES, "sources": {"../a.c": ""}}, "sources.../a.c"),
        ({**SOURCES, "sources": {"/a.c": ""}}, "sources./a.c"),
        ({**SOURCES, "sources": {"a.c": 1}}, "sources.a.c"),
        ({**SOURCES, "sources": {"a.c": "\ud800"}}, "sources.a.c"),
        ({**SOURCES, "product": "../x.so"}, "product"),
        ({**LIBRARY, "ops": "diopiAdd"}, "ops"),
        ({**LIBRARY, "ops": ["diopiAdd", 3]}, "ops[1]"),
        ({**LIBRARY, "stages": ["whole", "smok"]}, "stages[1]"),
        ({**LIBRARY, "stages": ["build"]}, "stages"),
        ({**LIBRARY, "continue": 1.5}, "continue"),
        ({**LIBRARY, "seed": -1}, "seed"),
        ({**LIBRARY, "seed": True}, "seed"),
        ({**LIBRARY, "held_out": 0}, "held_out"),
        ({**LIBRARY, "limits": {"time": 101}}, "limits.time"),
        ({**LIBRARY, "limits": {"time": 0}}, "limits.time"),
        ({**LIBRARY, "limits": {"memory": 5}}, "limits.memory"),
        ({**LIBRARY, "limits": {"cores": 1}}, "limits.cores"),
    ],
)
def test_a_fault_is_named_by_its_position(document: Any, position: str) -> None:
    with pytest.raises(RequestError) as error:
        parsed(document, LIMITS)
    assert error.value.code == "request-invalid"
    assert error.value.position == position


@pytest.mark.parametrize("line", [b"POST / HTTP/1.1\n", b"{'a': 1}\n", b"\xff\n", b"[" * 10_000, b'{"seed": NaN}\n'])
def test_what_is_no_json_is_named(line: bytes) -> None:
    with pytest.raises(RequestError) as error:
        decoded(line)
    assert error.value.code == "request-not-json"
    assert error.value.event["event"] == "error"
