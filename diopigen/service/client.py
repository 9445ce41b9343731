"""The client: a request, and the events that come of it, also as text."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from diopigen.service.protocol import FINAL, Event, decoded, encoded


def events(connection: socket.socket, request: Mapping[str, Any]) -> Iterator[Event]:
    """Sends a request and yields the events of its work, up to the final one or the end of the connection."""
    with connection, connection.makefile("rb") as stream:
        with contextlib.suppress(BrokenPipeError):  # the server has sent the reason
            connection.sendall(encoded(request))
        for line in stream:
            event = decoded(line)
            yield event
            if event["event"] in FINAL:
                return
    yield {"event": "error", "code": "connection-lost", "message": "the server has closed the connection"}


def as_text(event: Event) -> str:
    """An event for people; empty for those that need no line."""
    if event["event"] == "stage":
        return "\n".join([_stage(event), *(f"  {line}" for one in event.get("failures", ()) for line in _failure(one))])
    if event["event"] == "verdict":
        return _verdict(event)
    if event["event"] == "error":
        where = f" ({event['position']})" if "position" in event else ""
        fix = f"\n  fix: {event['fix']}" if "fix" in event else ""
        return f"error[{event['code']}]: {event['message']}{where}{fix}"
    return "waiting for other requests" if event["event"] == "queued" else ""


def _stage(event: Event) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in event.get("outcomes", {}).items())
    more = [outcomes, event.get("reason", ""), f"{event['not_called']} not called" if "not_called" in event else ""]
    text = (
        f"{event['stage']:<9} {event['status']:<8} {event['seconds']:6.2f} s  {', '.join(filter(None, more))}".rstrip()
    )
    printed = event.get("output", "") if event["status"] == "failed" else ""
    return "\n".join([text, *(f"  {line}" for line in printed.splitlines())])


def _failure(record: Mapping[str, Any]) -> Iterator[str]:
    head = [record.get("case", ""), record.get("kind", ""), record.get("parameter", ""), record.get("message", "")]
    yield ": ".join(filter(None, head))
    smallest = record.get("smallest")
    if smallest:
        yield f"  smallest call: {smallest.get('message', '')}"
    shown = smallest or record
    for name in ("expected", "actual"):
        if name in shown:
            yield f"  {name:<8} {shown[name]}"
    yield from (f"  {operand}" for operand in shown.get("operands", ()))
    if "likely_cause" in record:
        yield f"  likely cause [{record['likely_cause']['code']}]: {record['likely_cause']['text']}"


def _verdict(event: Event) -> str:
    score = event["credit"]["score"]
    words = [event["status"], f"in {event['seconds']:.2f} s", f"seed {event['seed']}"]
    words += [f"credit {score:g}"] if score is not None else []
    words += [f"not run: {', '.join(event['stages_not_run'])}"] if "stages_not_run" in event else []
    words += [event["ending"]] if "ending" in event else []
    return "; ".join([" ".join(words[:2]), *words[2:]])
