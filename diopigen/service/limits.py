"""Bounds of what one server does at a time, and of what one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`jobs` requests run at once and `queue` more wait. Times are in seconds, memory in bytes."""

    jobs: int = 2
    queue: int = 16
    time: float = 300.0
    """Most that a request may take, its build included."""
    call_time: float = 20.0
    """Most that one call of the library may take."""
    memory: int = 8 << 30
    """Most that all processes of a request may use together."""
    request_bytes: int = 8 << 20
    request_seconds: float = 10.0
    """Time within which the whole request has to arrive."""
    output_bytes: int = 20_000
    """Bytes of what a build prints that are returned: its begin and its end."""
    failures: int = 5
    """Failures of a stage that are described in full."""
