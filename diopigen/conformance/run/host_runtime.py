"""The host runtime, built from the sources that diopigen brings along where a library comes without one."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diopigen.conformance.run.compiler import compile_or_fail, compiler
from diopigen.conformance.run.locate import RUNTIME_NAME
from diopigen.emit.c.headers import emit as emit_headers
from diopigen.ir.model import Interface
from diopigen.output import cache
from diopigen.package import package_data

RULES = {"runtime-build": "There is a C++ compiler, and it accepts the sources of the host runtime."}

_CODE, _PRODUCT = "runtime-build", "the host runtime"
_FLAGS = ("-std=c++17", "-O2", "-fPIC")


def host_runtime(interface: Interface, templates: Path) -> Path:
    """libdiopirt.so for an interface. It is compiled once and cached under a digest of compiler, sources and headers;
    without a cache folder it lives as long as this process. Raises `Failure` where it cannot be compiled."""
    runtime = package_data("runtime")
    headers = {f"diopi/{Path(file.path).name}": file.content for file in emit_headers(interface, templates).files}
    words = compiler(_CODE, _PRODUCT)
    folders = (runtime / "src", runtime / "include/diopigen")
    sources = {path: path.read_bytes() for folder in folders for path in sorted(folder.iterdir()) if path.is_file()}
    exports = runtime / "libdiopirt.map"
    inputs = (words, _FLAGS, sorted(headers.items()), sorted((p.name, text) for p, text in sources.items()))
    digest = hashlib.sha256(repr((inputs, exports.read_bytes())).encode()).hexdigest()[:32]
    built = (cache.folder() or _folder_of_this_process()) / f"runtime-{digest}" / RUNTIME_NAME
    if built.is_file():
        return built
    print(f"{RUNTIME_NAME} is not in the library's folder: building the host runtime, once", file=sys.stderr)
    built.parent.mkdir(parents=True, exist_ok=True)
    # Renamed when whole: another process may build the same.
    with tempfile.TemporaryDirectory(dir=built.parent) as name:
        folder = Path(name)
        for header, content in headers.items():
            (folder / header).parent.mkdir(exist_ok=True)
            (folder / header).write_bytes(content)
        includes = (f"-I{folder}", f"-I{runtime / 'include'}")

        def compiled(source: Path) -> Path:
            target = folder / f"{source.stem}.o"
            compile_or_fail([*words, *_FLAGS, *includes, "-c", str(source), "-o", str(target)], _CODE, _PRODUCT)
            return target

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compiled, (path for path in sources if path.suffix == ".cpp")))
        link = ("-shared", "-pthread", f"-Wl,--version-script={exports}", "-o", str(folder / RUNTIME_NAME))
        compile_or_fail([*words, *link, *map(str, objects)], _CODE, _PRODUCT)
        (folder / RUNTIME_NAME).replace(built)
    return built


def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="diopigen-runtime-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
