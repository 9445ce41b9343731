"""Types and look-ups of the tests of the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Events = list[dict[str, Any]]
Served = Callable[..., Events]


def stage(events: Events, name: str) -> dict[str, Any]:
    """The event of a stage."""
    (found,) = [event for event in events if event.get("stage") == name]
    return found
