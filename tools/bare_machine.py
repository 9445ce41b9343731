"""Runs a command as on a Debian or Ubuntu machine that has only what the README names.

    tools/bare_machine.py make test

In a mount namespace of its own the files of all other packages are hidden, and so is /usr/local. PATH is that of a
new machine. Needs root, as in a container of CI.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

NAMED = ("git", "python3", "python3-venv", "make", "g++")
"""Packages that the README names, and git, which fetches a checkout."""
STATUS = Path("/var/lib/dpkg/status")
LISTS = Path("/var/lib/dpkg/info")
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main() -> int:
    if len(sys.argv) < 2:
        print(f"usage: {sys.argv[0]} COMMAND...", file=sys.stderr)
        return 2
    if sys.argv[1] == "--inside":
        return inside(Path(sys.argv[2]), sys.argv[3:])
    if os.geteuid() != 0 or not STATUS.exists():
        print(f"{sys.argv[0]}: needs root, and a system of Debian's packages", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="bare-machine-") as layer:
        command = ["unshare", "--mount", sys.executable, __file__, "--inside", layer, *sys.argv[1:]]
        return subprocess.run(command, check=False).returncode


def inside(layer: Path, command: list[str]) -> int:
    """Hides the files, in the namespace that this process is alone in, and becomes the command."""
    packages = read_packages(STATUS.read_text(encoding="utf-8"))
    present = closure(packages, NAMED)
    subprocess.run(["mount", "-t", "tmpfs", "layer", layer], check=True)
    hidden, work = layer / "hidden", layer / "work"
    for folder in (hidden, work):
        folder.mkdir()
    shown = set(files(present))
    for path in files(packages.keys() - present):
        # Some packages list files below /lib and /bin, which are links to those below /usr.
        match = re.match(r"(?:/usr)?/((?:bin|sbin|lib|lib64|include|share)/.+)", path)
        if match and path not in shown and (Path("/usr", match[1]).is_symlink() or not Path("/usr", match[1]).is_dir()):
            whiteout = hidden / match[1]
            with contextlib.suppress(FileExistsError, NotADirectoryError):  # below a link that is hidden already
                whiteout.parent.mkdir(parents=True, exist_ok=True)
                os.mknod(whiteout, stat.S_IFCHR, os.makedev(0, 0))
    print(f"bare machine: {len(present)} of {len(packages)} packages", flush=True)
    options = f"lowerdir=/usr,upperdir={hidden},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, "/usr"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/usr/local"], check=True)
    retained = {name: os.environ[name] for name in ("HOME", "LANG", "CI", "TERM") if name in os.environ}
    os.execvpe(command[0], command, {**retained, **index_variables(), "PATH": SYSTEM, "CCACHE_DISABLE": "1"})


def index_variables() -> dict[str, str]:
    """Variables by which this machine is set to use other package indices."""
    return {name: value for name, value in os.environ.items() if re.match(r"(?i)(pip|uv)_|.*_proxy$|ssl_", name)}


def read_packages(status: str) -> dict[str, dict[str, str]]:
    """The fields of each installed package, by name."""
    packages = {}
    for entry in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", entry, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            packages[fields["Package"]] = fields
    return packages


def closure(packages: dict[str, dict[str, str]], named: Iterable[str]) -> set[str]:
    """The named packages, those of every machine, and all that these depend on."""
    providers: dict[str, list[str]] = {}
    for name, fields in packages.items():
        for provided in words(fields.get("Provides", "")):
            providers.setdefault(provided, []).append(name)
    waiting = [name for name, fields in packages.items() if fields.get("Priority") in ("required", "important")]
    waiting += named
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached or name not in packages:
            waiting += [one for one in providers.get(name, ()) if one not in reached]
            continue
        reached.add(name)
        waiting += words(packages[name].get("Depends", "")) + words(packages[name].get("Pre-Depends", ""))
    return reached


def words(dependencies: str) -> list[str]:
    """The names in a field of dependencies; of alternatives all, since only installed ones count."""
    return [re.split(r"[ :(]", one.strip())[0] for one in re.split(r"[,|]", dependencies) if one.strip()]


def files(names: Iterable[str]) -> Iterator[str]:
    """Files that the packages have installed."""
    for name in names:
        for listed in (LISTS / f"{name}.list", *LISTS.glob(f"{name}:*.list")):
            if listed.exists():
                yield from listed.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    sys.exit(main())
