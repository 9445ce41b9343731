"""The form of requests and events: one JSON document on a line, in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Event = Mapping[str, Any]
Emit = Callable[[Event], None]

FINAL = frozenset({"verdict", "error"})
"""Events after which the server closes the connection."""


class RequestError(Exception):
    """A request that cannot be served. `position` is that of the fault in the document: `ops[1]`, `limits.time`."""

    def __init__(self, code: str, message: str, position: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.code, self.position, self.fix = code, position, fix

    @property
    def event(self) -> Event:
        """The event that tells the client."""
        fields = {"code": self.code, "message": str(self), "position": self.position, "fix": self.fix}
        return {"event": "error", **{name: value for name, value in fields.items() if value}}


def encoded(document: Mapping[str, Any]) -> bytes:
    """A document as a line."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def decoded(line: bytes) -> Any:
    """The document of a line. Raises `RequestError`."""
    try:
        return json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        position = f"byte {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        message = f"the request is not JSON: {error}"
        raise RequestError("request-not-json", message, position, "send one JSON object on one line") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
