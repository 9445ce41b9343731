"""The cache of results: found again for the same bytes, never for others, and never broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sampling import first

from diopigen import api
from diopigen.commands.conformance_options import Selection
from diopigen.conformance.cases.suite import tested
from diopigen.console import Session
from diopigen.diagnostics import Sink
from diopigen.output import cache

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_written_is_read_again(cache_folder: Path) -> None:
    cache.write("thing", "a1", {"numbers": [1, 2]})
    assert cache.read("thing", "a1") == {"numbers": [1, 2]}
    assert cache.read("thing", "a2") is None
    assert cache.read("other", "a1") is None
    assert cache_folder.stat().st_mode & 0o777 == 0o700


def _flipped(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "one bit": _flipped,
    "a pickle without digest": lambda data: data[32:],
    "more behind": lambda data: data + b"x",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_counts_as_absent(damage: str, cache_folder: Path) -> None:
    cache.write("thing", "a1", list(range(100)))
    (path,) = cache_folder.iterdir()
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert cache.read("thing", "a1") is None
    cache.write("thing", "a1", [7])
    assert cache.read("thing", "a1") == [7]


def test_a_folder_that_others_may_write_to_is_not_read(cache_folder: Path) -> None:
    cache.write("thing", "a1", 7)
    cache_folder.chmod(0o777)
    assert cache.read("thing", "a1") is None
    cache_folder.chmod(0o700)
    assert cache.read("thing", "a1") == 7
    moved = cache_folder.rename(cache_folder.with_name("moved"))
    cache_folder.symlink_to(moved)
    assert cache.read("thing", "a1") is None


def test_it_can_be_disabled(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIOPIGEN_CACHE", "off")
    cache.write("thing", "a1", 7)
    assert cache.read("thing", "a1") is None and not cache_folder.exists()


def test_a_folder_that_cannot_be_created_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path / "file" / "cache"))
    cache.write("thing", "a1", 7)
    assert cache.read("thing", "a1") is None


def test_only_the_newest_entries_stay(cache_folder: Path) -> None:
    for number in range(cache.MAX_ENTRIES + 3):
        cache.write("thing", f"a{number}", number)
        os.utime(cache_folder / f"thing-a{number}", (number, number))
    cache.write("other", "a0", 0)
    cache.write("thing", "last", 0)
    found = sorted(path.name for path in cache_folder.iterdir())
    assert len(found) == cache.MAX_ENTRIES + 1
    assert "thing-last" in found and "other-a0" in found and "thing-a0" not in found


def test_the_key_follows_every_byte_and_name(tmp_path: Path) -> None:
    folder = tmp_path / "spec"
    (folder / "ops").mkdir(parents=True)
    (folder / "a.yaml").write_text("one")
    keys = {cache.key_of([folder])}
    assert cache.key_of([folder]) in keys
    changes: list[Callable[[], object]] = [
        lambda: (folder / "a.yaml").write_text("two"),
        lambda: (folder / "a.yaml").rename(folder / "b.yaml"),
        lambda: (folder / "b.yaml").rename(folder / "ops" / "b.yaml"),
        lambda: (folder / "ops" / "c.yaml").touch(),
    ]
    for change in changes:
        change()
        key = cache.key_of([folder])
        assert key not in keys
        keys.add(key)
    assert cache.key_of([folder], ["word"]) not in keys
    assert cache.key_of([folder], ["wo", "rd"]) != cache.key_of([folder], ["word"])


def test_the_key_follows_the_sources_of_diopigen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for name, version in (("one", "# a version"), ("two", "# a version"), ("three", "# another version")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cache.py").write_text(version)
        monkeypatch.setattr(cache, "_PACKAGE", tmp_path / name)
        keys.append(cache.key_of([]))
    assert keys[0] == keys[1] != keys[2]


def test_the_key_follows_the_files_that_the_program_reads_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []
    for name, text in (("one", "a"), ("two", "b")):
        (tmp_path / name).mkdir()
        for file in cache._PROGRAM_DATA:
            (tmp_path / name / file).write_text(text)
        monkeypatch.setattr(cache, "package_data", lambda _, name=name: tmp_path / name)
        cache._digest_of_program.cache_clear()
        keys.append(cache.key_of([]))
    cache._digest_of_program.cache_clear()
    assert keys[0] != keys[1]


def test_a_folder_is_not_a_link_to_nothing(tmp_path: Path) -> None:
    entry = tmp_path / "folder/entry"
    entry.parent.mkdir()
    entry.symlink_to("nothing")
    before = cache.key_of([entry.parent])
    entry.unlink()
    entry.mkdir()
    assert cache.key_of([entry.parent]) != before


@pytest.mark.parametrize("targets", first([["headers", "cpu"], []]), ids=["some", "all"])
def test_an_interface_out_of_the_cache_gives_the_same_files(targets: list[str]) -> None:
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    loaded = api.load(where, Sink())
    cache.write("interface", "a1", loaded)
    again = cache.read("interface", "a1")
    plans = [dict(api.plan(one.interface, where, Sink(), targets)) for one in (again, loaded)]
    assert plans[0] == plans[1] != {}


def diopigen(folder: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "diopigen", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_an_edit_of_the_spec_is_seen_at_once(tmp_path: Path, cache_folder: Path) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    assert ": 0 written" not in diopigen(tmp_path, "generate", "--target", "headers")
    assert {path.name.partition("-")[0] for path in cache_folder.iterdir()} == {"interface", "plan"}
    assert ": 0 written" in diopigen(tmp_path, "generate", "--target", "headers")
    ops = tmp_path / "specs" / "ops" / "elementwise_unary.yaml"
    ops.write_text(ops.read_text().replace("Sign of each", "The sign of each", 1))
    assert ": 0 written" not in diopigen(tmp_path, "generate", "--target", "headers")
    ops.write_text(ops.read_text().replace("direction: out", "direction: sideways", 1))
    assert "unknown-word" in diopigen(tmp_path, "generate", "--target", "headers", code=1)
    assert "unknown-word" in diopigen(tmp_path, "generate", "--target", "headers", "--check", code=1)


def test_concurrent_runs_see_whole_entries(tmp_path: Path, cache_folder: Path) -> None:
    script = (
        "from diopigen.output import cache\n"
        "for turn in range(60):\n"
        "    cache.write('thing', 'a1', [turn] * 200_000)\n"
        "    found = cache.read('thing', 'a1')\n"
        "    assert found is not None and len(set(found)) == 1 and len(found) == 200_000\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert [path.name for path in cache_folder.iterdir()] == ["thing-a1"]


@dataclass(frozen=True, slots=True)
class Plain:
    """Read as a call of its class."""

    one: int
    two: tuple[str, ...] = ()


@dataclass(frozen=True)
class Worked:
    """Its constructor does more than keep its arguments."""

    one: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.one)


def test_values_of_every_kind_come_back_as_they_were() -> None:
    written = {"plain": Plain(1, ("a",)), "worked": Worked(3), "many": [Plain(index) for index in range(5)]}
    cache.write("thing", "a1", written)
    found = cache.read("thing", "a1")
    assert found == written and found["worked"].twice == 6


def test_what_follows_from_the_interface_is_cached_under_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spec that changes after it was read must not lend its key to what follows from the earlier one."""
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path / "cache"))
    spec = tmp_path / "specs"
    shutil.copytree(ROOT / "tests/data/miniature", spec)
    session = Session(str(spec), None, "text", strict=False)
    before = cache.key_of((session.workspace().spec,), (session.workspace().spec_name,))
    session.load()
    (spec / "later.txt").write_text("changed")
    assert session.interface_key == before
    assert cache.key_of((session.workspace().spec,), (session.workspace().spec_name,)) != before


def test_a_command_on_one_function_reads_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "specs"
    shutil.copytree(ROOT / "tests/data/miniature", spec)
    whole = Session(str(spec)).load().interface
    name = tested(whole)[0].name
    Session(str(spec)).load_some([name])
    monkeypatch.setattr(api, "load", lambda *_, **__: pytest.fail("the spec is read"))
    monkeypatch.setattr(
        cache, "read", lambda kind, key, read=cache.read: read(kind, key) if kind != "interface" else None
    )
    session = Session(str(spec))
    session.load_some([name])
    assert name in [function.name for function in session.load().interface.functions]
    assert len(session.load().interface.functions) < len(whole.functions)
    assert session.interface_key == cache.key_of((session.workspace().spec,), (session.workspace().spec_name,))


def test_the_cases_of_some_functions_are_not_stored_as_those_of_all(cache_folder: Path) -> None:
    session = Session(None)
    session.load_some(["diopiSoftmax"])
    Selection(ops=("diopiSoftmax",), family=(), dtype=(), axis=("recipe",), model=()).cases(session)
    assert session.interface_key is not None
    assert not [path for path in cache_folder.iterdir() if path.name.startswith("cases-")]


def test_the_calls_of_some_functions_are_not_stored_as_those_of_all(cache_folder: Path) -> None:
    session = Session(None)
    session.load_some(["diopiSoftmax"])
    assert set(session.small_calls()) == {"diopiSoftmax"}
    assert {"diopiSoftmax", "diopiAddInp"} <= set(Session(None).small_calls())
