"""A spec with one change ends `check` with findings that have a position, or passes; and what passes can be generated.

Every key that is gone, every word with a slip and every value of another kind is tried in `make nightly`, a sample of
them with a change.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import small_spec
from check_helpers import MINIATURE, ROOT
from sampling import examples, picked
from yaml_changes import Change, changed, changes

from diopigen import api
from diopigen.diagnostics import Diagnostic, Failure, Sink
from diopigen.rulebook.rules import all_rules


def checked(spec: Path) -> list[Diagnostic]:
    """All that `diopigen check` finds; where it finds no error, `generate` has nothing to say either."""
    where = api.Workspace(spec, ROOT / "templates", "specs")
    sink = Sink()
    try:
        interface = api.load(where, sink).interface
        models = {} if sink.has_errors else api.models(where, sink)
        if not sink.has_errors:
            api.check_models(interface, models.values(), sink)
            api.check_targets(interface, where, sink)
    except Failure as fault:
        sink.extend(fault.diagnostics)
    if not sink.has_errors:
        assert api.plan(interface, where, Sink()).files
        api.check_completeness(interface, where, None, sink)
    return sink.sorted()


def small(folder: Path) -> None:
    """A spec that can be generated, with the types and services of the real one."""
    small_spec.write(folder)
    shutil.copyfile(ROOT / "specs/runtime.yaml", folder / "runtime.yaml")


def miniature(folder: Path) -> None:
    """A spec that uses every feature of the grammar."""
    shutil.copytree(MINIATURE, folder)


@pytest.mark.parametrize(("write", "count"), [(small, 30), (miniature, 90)], ids=["small", "miniature"])
def test_one_change_is_reported_and_never_raised(write: object, count: int, tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    assert callable(write)
    write(spec)
    texts = {path: path.read_text() for path in sorted(spec.rglob("*.yaml"))}
    every = [(path, change) for path, text in texts.items() for change in changes(text)]
    for path, change in sample(every, count):
        path.write_text(changed(texts[path], change))
        try:
            found = checked(spec)
        except Exception as error:
            raise AssertionError(f"{path.relative_to(spec)}: {change}") from error
        finally:
            path.write_text(texts[path])
        assert [f"{path.name} {change}: {one}" for one in found if not is_complete(one)] == []


def sample(every: list[tuple[Path, Change]], count: int) -> list[tuple[Path, Change]]:
    """The same `count` of all changes on every machine, or all where everything runs."""
    if examples(4) == 4:
        return every
    fraction = max(1, len(every) // count)
    return [(path, change) for path, change in every if picked(f"{path.name} {change}", fraction)]


def is_complete(finding: Diagnostic) -> bool:
    """Returns whether a finding is one of a known rule, with a position and a fix line."""
    return finding.code in all_rules() and finding.span is not None and bool(finding.fix)
