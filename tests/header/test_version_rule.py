"""The version that a change demands, and the `since` of functions, between two specs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import small_spec
from header_helpers import facts_interface, shown

from diopigen.diagnostics import Severity, Sink
from diopigen.header.cdecl import CInterface
from diopigen.header.check import Version, read_version
from diopigen.header.contract_changes import version_changes
from diopigen.header.signature import c_interface
from diopigen.header.version_rule import Number, check_version, number_of
from diopigen.ir.model import Interface

ADDED = small_spec.OPERATOR + small_spec.OPERATOR.partition("operators:\n")[2].replace("Example", "Second")
NARROWED = small_spec.OPERATOR.replace("[floating]", "[float32]")
WIDENED = small_spec.OPERATOR.replace("[floating]", "[number]")
REWORDED = small_spec.OPERATOR.replace("An operator.", "One operator.")


def write(folder: Path, operators: str, version: tuple[int, int, int]) -> Version:
    """A small spec of that version."""
    small_spec.write(folder, operators)
    types = folder / "types.yaml"
    values = "version: {{major: {}, minor: {}, patch: {}}}".format(*version)
    types.write_text(re.sub("^version: .*", values, types.read_text(), count=1, flags=re.MULTILINE))
    found = read_version(folder, sink := Sink())
    assert found is not None and sink.sorted() == []
    return found


def findings(tmp_path: Path, operators: str, version: tuple[int, int, int]) -> list[str]:
    """Findings for version 1.2.3 of the small spec, changed to this one."""
    old = write(tmp_path / "old", small_spec.OPERATOR, (1, 2, 3))
    new = write(tmp_path / "new", operators, version)
    changes, sink = Sink(), Sink()
    version_changes(old, new, changes)
    check_version(old, new, changes.sorted(), sink)
    return [line.replace(str(tmp_path), "") for line in shown(sink)]


@pytest.mark.parametrize(
    ("operators", "enough", "short", "finding"),
    [
        pytest.param(
            NARROWED,
            (2, 0, 0),
            (1, 9, 0),
            "error version-not-raised: the version is 1.9.0, and after these changes at least 2.0.0"
            " | version: {major: 2, minor: 0, patch: 0}",
            id="breaks",
        ),
        pytest.param(
            WIDENED,
            (1, 3, 0),
            (1, 2, 9),
            "error version-not-raised: the version is 1.2.9, and after these changes at least 1.3.0"
            " | version: {major: 1, minor: 3, patch: 0}",
            id="widens",
        ),
        pytest.param(
            REWORDED,
            (1, 2, 4),
            (1, 2, 3),
            "warning version-not-raised: the version is 1.2.3, and after these changes at least 1.2.4"
            " | version: {major: 1, minor: 2, patch: 4}",
            id="words",
        ),
    ],
)
def test_a_change_demands_a_version(
    operators: str, enough: tuple[int, int, int], short: tuple[int, int, int], finding: str, tmp_path: Path
) -> None:
    assert findings(tmp_path / "enough", operators, enough) == []
    assert findings(tmp_path / "short", operators, short) == [f"/new/types.yaml:1:1: {finding}"]


def test_a_version_may_be_raised_without_a_change(tmp_path: Path) -> None:
    assert findings(tmp_path, small_spec.OPERATOR, (1, 3, 0)) == []


@pytest.mark.parametrize("since", ["1.3", "1.4"])
def test_a_new_function_has_a_version_since_the_old_one(since: str, tmp_path: Path) -> None:
    assert findings(tmp_path, f"{ADDED}    since: '{since}'\n", (1, 4, 0)) == []


@pytest.mark.parametrize(("key", "since"), [("", "1.0"), ("    since: '1.2'\n", "1.2"), ("    since: '1.5'\n", "1.5")])
def test_a_new_function_without_its_version_is_an_error(key: str, since: str, tmp_path: Path) -> None:
    (found,) = findings(tmp_path, ADDED + key, (1, 4, 0))
    message = f"'diopiSecond' came after version 1.2.3, and its since is {since} | since: '1.4'"
    assert f"error function-since: {message}" in found and found.startswith("/new/ops/example.yaml:")


def test_the_since_of_an_old_function_stays(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, f"{small_spec.OPERATOR}    since: '1.3'\n", (1, 3, 0))
    assert "'diopiExample' is in version 1.2.3 already, and its since is 1.3 | restore its since" in found


def test_headers_without_a_version_have_no_rule() -> None:
    assert number_of(facts_interface()) == Number(1, 0, 0)
    assert number_of(CInterface()) is None


def test_the_spec_has_the_version_that_follows_from_the_published_headers(interface: Interface) -> None:
    old, new = Version(facts_interface()), Version(c_interface(interface), interface)
    changes, sink = Sink(), Sink()
    version_changes(old, new, changes)
    assert {one.severity for one in changes.sorted()} == {Severity.NOTE}
    check_version(old, new, changes.sorted(), sink)
    assert shown(sink) == []
