"""Builds a library out of a copy of its sources, unit by unit, by the commands that its own build description gives."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import failure

LIBRARY = Path(__file__).resolve().parents[2] / "native/sources"
SWITCH = LIBRARY / "fault_switch.h"
_FLAGS = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -DDIOPI_CPU_ONE_ARCH")
_COPIED = (".h", ".cpp", ".map")
_LEFT_OUT = ("-Werror", "-Wall", "-Wextra")
_ERROR = re.compile(r"^(/[^:\n]+):(\d+):(?:\d+:)? (error|note)?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unit:
    """A source of the library: its path below the root, and the command that compiles it, without output and input."""

    path: str
    command: tuple[str, ...]
    directory: Path


@dataclass(frozen=True, slots=True)
class Rejected:
    """A unit that does not compile: what the compiler says, and the places below the root that it names, errors
    first."""

    unit: Unit
    text: str
    positions: tuple[tuple[str, int], ...]


class Tree:
    """A copy of the folders `copied` of the project at `root`, with its units, in `folder`."""

    def __init__(self, root: Path, folder: Path, project: str, copied: Sequence[str], *, jobs: int = 1) -> None:
        """Configures `project`, a folder below the root with a CMakeLists.txt. Raises `Failure` where that fails."""
        self.root, self.folder, self.copied, self.jobs = root.resolve(), folder.resolve(), tuple(copied), jobs
        self.copy = self.folder / "tree"
        description = self.folder / "cmake"
        command = [_tool("cmake"), "-S", str(self.root / project), "-B", str(description), "-G", "Unix Makefiles"]
        _run([*command, *_FLAGS, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], self.folder)
        commands = json.loads((description / "compile_commands.json").read_text())
        self.units = [self._unit(entry) for entry in commands]
        links = sorted(description.rglob("link.txt"))
        if len(links) != 1:
            raise failure("mutant-build", f"{project} describes {len(links)} libraries, not one")
        self.link_folder = links[0].parents[2]
        self.link_command = shlex.split(links[0].read_text())
        self.prelude = prelude(self.files().values())
        self._lock = threading.Lock()

    def sibling(self, name: str) -> Tree:
        """The same units with a copy and objects of their own, in a folder below this one's."""
        other = copy.copy(self)
        other.folder = self.folder / name
        other.copy = other.folder / "tree"
        return other

    def _unit(self, entry: Mapping[str, str]) -> Unit:
        words = shlex.split(entry["command"])
        source = Path(entry["directory"], entry["file"]).resolve()
        words = [word for word in words if word not in _LEFT_OUT and Path(word).name != "ccache"]
        at = words.index("-o")
        del words[at : at + 2]
        words.remove("-c")
        words = [word for word in words if Path(entry["directory"], word) != source]
        words = ["-I" + os.path.normpath(word[2:]) if word.startswith("-I/") else word for word in words]
        return Unit(str(source.relative_to(self.root)), tuple(words), Path(entry["directory"]))

    def files(self) -> dict[str, bytes]:
        """The sources that may be changed, by their path below the root."""
        found = {}
        for top in self.copied:
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in _COPIED:
                    found[str(path.relative_to(self.root))] = path.read_bytes()
        return found

    def write(self, files: Mapping[str, bytes], changed: Mapping[str, bytes], *, quietly: bool = False) -> None:
        """Brings the copy to `files`, with `changed` in place of some. What is right already keeps its time; `quietly`,
        so does all else, and only units without object code are compiled."""
        for name, content in {**files, **changed}.items():
            path = self.copy / name
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.stat() if path.is_file() else None
            if before is None or path.read_bytes() != content:
                path.write_bytes(content)
                if quietly and before is not None:
                    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def compile(self, units: Sequence[Unit], *, switched: bool) -> list[Rejected]:
        """Compiles units out of the copy where they or what they include have changed; those that are refused."""
        with ThreadPoolExecutor(self.jobs) as pool:
            found = list(pool.map(lambda unit: self._compiled(unit, switched), units))
        return [rejected for rejected in found if rejected is not None]

    def object_of(self, unit: Unit) -> Path:
        """Path of the object code of a unit."""
        return (self.folder / "objects" / unit.path).with_suffix(".o")

    def _compiled(self, unit: Unit, switched: bool) -> Rejected | None:
        target = self.object_of(unit)
        target.parent.mkdir(parents=True, exist_ok=True)
        source = self.copy / unit.path
        source = source if source.is_file() else self.root / unit.path
        if _is_fresh(target, source):
            return None
        words = [*self.words(unit), "-w", "-include", str(self._prelude(unit, switched))]
        command = [*words, "-MMD", "-c", str(source), "-o", str(target)]
        target.unlink(missing_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, cwd=unit.directory, check=False)
        if done.returncode == 0:
            return None
        named = [(self._below(match[1]), int(match[2]), match[3]) for match in _ERROR.finditer(done.stderr)]
        order = [position[:2] for word in ("error", None, "note") for position in named if position[2] == word]
        return Rejected(unit, done.stderr, tuple(position for position in order if position[0]))

    def _prelude(self, unit: Unit, switched: bool) -> Path:
        """A header with the standard library, and with the switch where it is wanted, read once for all units that are
        compiled with the same options: half of the time goes there."""
        options = [word for word in self.words(unit) if not word.startswith("-I")]
        content = (SWITCH.read_bytes() if switched else b"") + self.prelude
        name = hashlib.blake2b(repr((options, content)).encode(), digest_size=8).hexdigest()
        header = self.folder / "prelude" / f"{name}.h"
        with self._lock:
            if not header.with_suffix(".h.gch").is_file():
                header.parent.mkdir(parents=True, exist_ok=True)
                header.write_bytes(content)
                command = [*self.words(unit), "-w", "-x", "c++-header", str(header), "-o", f"{header}.gch"]
                _run(command, unit.directory)
        return header

    def words(self, unit: Unit) -> list[str]:
        """The command of a unit with the folders of the copy in place of the root's."""
        found = []
        for word in unit.command:
            for top in self.copied:
                word = word.replace(str(self.root / top), str(self.copy / top))
            found.append(word)
        return found

    def _below(self, path: str) -> str:
        return os.path.relpath(path, self.copy) if path.startswith(f"{self.copy}/") else ""

    def link(self, library: Path) -> Path:
        """The library out of all objects and the switch."""
        switch = self.folder / "objects" / "fault_switch.o"
        compiler = self.link_command[0]
        _run([compiler, "-O1", "-fPIC", "-c", str(LIBRARY / "fault_switch.cpp"), "-o", str(switch)], self.folder)
        objects = [str(self.object_of(unit)) for unit in self.units] + [str(switch)]
        words = [word for word in self.link_command if not word.endswith(".o")]
        words[words.index("-o") + 1] = str(library)
        _run([*words[: words.index("-o")], *objects, *words[words.index("-o") :]], self.link_folder)
        return library


_STANDARD = frozenset(
    b"algorithm array atomic cerrno cfloat chrono climits cmath complex condition_variable csignal cstddef cstdint "
    b"cstdio cstdlib cstring deque exception functional initializer_list iterator limits map memory mutex new numeric "
    b"optional set sstream stdexcept string string_view thread tuple type_traits unordered_map utility vector".split()
)


def prelude(sources: Iterable[bytes]) -> bytes:
    """The headers of the standard library that sources include."""
    lines = {line.strip() for content in sources for line in content.splitlines() if line.startswith(b"#include <")}
    return b"".join(line + b"\n" for line in sorted(lines) if line[10:-1] in _STANDARD)


def build_runtime(root: Path, folder: Path, jobs: int) -> Path:
    """The host runtime, built from runtime/ below the root."""
    build = folder.resolve() / "runtime"
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    output = f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={build}"
    _run([_tool("cmake"), "-S", str(root / "runtime"), "-B", str(build / "build"), output, *launcher], root)
    _run([_tool("cmake"), "--build", str(build / "build"), "--parallel", str(jobs)], root)
    return build / "libdiopirt.so"


def _is_fresh(target: Path, source: Path) -> bool:
    """Returns whether the object is newer than the source and all that it includes."""
    described = target.with_suffix(".d")
    if not (target.is_file() and described.is_file()):
        return False
    built = target.stat().st_mtime_ns
    words = described.read_text().replace("\\\n", " ").split()
    needed = [Path(word) for word in words[1:]]
    return source in needed and all(path.is_file() and path.stat().st_mtime_ns < built for path in needed)


def _tool(name: str) -> str:
    """A tool of the environment that this runs in, else the one of the machine."""
    script = Path(sys.executable).parent / name
    return str(script) if script.exists() else name


def _run(command: Sequence[str], directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)
    except FileNotFoundError:
        raise failure(
            "mutant-build", f"there is no {command[0]}", fix="install it, or run in the environment"
        ) from None
    if done.returncode != 0:
        raise failure("mutant-build", f"{shlex.join(command)} fails:\n{(done.stdout + done.stderr)[-2000:]}")
