"""Libraries and programs built from the sources that diopigen brings along: compiled once, and cached under a
digest."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from diopigen.conformance.run.compiler import compile_or_fail, compiler
from diopigen.output import cache


@dataclass(frozen=True, slots=True)
class Recipe:
    """Sources and flags of a library. `written` are files that are written first, by their paths in a folder that is
    searched for headers; those that end in .cpp are compiled, as are those of `sources`. `inputs` is what the result
    depends on besides. `code` and `product` are for the message where it does not compile."""

    name: str
    code: str
    product: str
    reason: str
    written: Mapping[str, bytes]
    sources: tuple[Path, ...]
    includes: tuple[Path, ...]
    flags: tuple[str, ...]
    link: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = field(default=())
    is_program: bool = False


def compiled(recipe: Recipe) -> Path:
    """The library of a recipe. Without a cache folder it lives as long as this process. Raises `Failure` where it
    cannot be compiled."""
    words = compiler(recipe.code, recipe.product)
    read = sorted({*recipe.sources, *recipe.inputs})
    inputs = (
        words,
        recipe.flags,
        recipe.link,
        sorted(recipe.written.items()),
        [(p.name, p.read_bytes()) for p in read],
    )
    digest = hashlib.sha256(repr(inputs).encode()).hexdigest()[:32]
    stem = Path(recipe.name).stem.removeprefix("lib")
    built = (cache.folder() or _folder_of_this_process()) / f"{stem}-{digest}" / recipe.name
    if built.is_file():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with _alone(built.parent):
        if not built.is_file():  # else another process has built it meanwhile
            _build(recipe, words, built)
    return built


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Makes other processes that build in the folder wait: workers that start together need the same program."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(recipe: Recipe, words: Sequence[str], built: Path) -> None:
    print(f"{recipe.reason}: building {recipe.product}, once", file=sys.stderr)
    # Renamed when whole: a build can be interrupted.
    with tempfile.TemporaryDirectory(dir=built.parent) as name:
        folder = Path(name)
        for path, content in recipe.written.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        includes = (f"-I{folder}", *(f"-I{path}" for path in recipe.includes))
        sources = (*recipe.sources, *(folder / path for path in recipe.written if path.endswith(".cpp")))

        def to_object(numbered: tuple[int, Path]) -> Path:
            number, source = numbered
            target = folder / f"{number}-{source.stem}.o"
            command = [*words, *recipe.flags, *includes, "-c", str(source), "-o", str(target)]
            compile_or_fail(command, recipe.code, recipe.product)
            return target

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(to_object, enumerate(sources)))
        shared = () if recipe.is_program else ("-shared",)
        link = (*shared, "-pthread", *recipe.link, "-o", str(folder / recipe.name))
        # Objects before the libraries that they need.
        compile_or_fail([*words, *map(str, objects), *link], recipe.code, recipe.product)
        (folder / recipe.name).replace(built)


def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="diopigen-built-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
