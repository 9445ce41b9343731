"""Installs the packages of the extras `models` and `vision` for `make test-models`, for the installed torch.

Those of `vision` go to a folder of their own, without what they ask for: torchvision asks for a torch of its own, and a
wheel of it that does not fit breaks every package that looks for it. A package that the index lacks is named in a line
and left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

TORCH = metadata.version("torch").partition("+")[0]
APART = Path(__file__).resolve().parent.parent / f"build/models-{TORCH}"
"""The folder of the packages of `vision`."""
EXTRA = re.compile(r"""^(?P<name>[\w.-]+)==(?P<version>[\w.]+) *; *extra == ["'](?P<extra>\w+)["']$""")


def pinned(extra: str) -> dict[str, str]:
    """Versions by package of an extra of diopigen; torch is there already, in its own version."""
    found = (EXTRA.match(text) for text in metadata.requires("diopigen") or ())
    versions = {match["name"]: match["version"] for match in found if match is not None and match["extra"] == extra}
    return {name: version for name, version in versions.items() if name != "torch"}


def fitting(name: str, version: str) -> str:
    """The version to install. Of torchvision each minor release is for one of torch: 0.28 for 2.13, 0.29 for 2.14."""
    minor = int(TORCH.split(".")[1]) + 15
    return version if name != "torchvision" or version.startswith(f"0.{minor}.") else f"0.{minor}.*"


def is_installed(name: str, version: str, folder: Path | None) -> bool:
    """Returns whether a package is there, in that version."""
    paths = sys.path if folder is None else [str(folder)]
    return any(fnmatch(one.version, version) for one in metadata.distributions(name=name, path=paths))


def install(name: str, version: str, folder: Path | None) -> bool:
    """Returns whether the package is there now."""
    if is_installed(name, version, folder):
        return True
    options = [f"torch=={TORCH}"] if folder is None else ["--no-deps", "--upgrade", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options]
    done = subprocess.run([*command, f"{name}=={version}"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = next((line for line in done.stderr.splitlines() if line.startswith("ERROR:")), "ERROR: pip failed")
        print(f"models       {name} {version} is left out: {reason.removeprefix('ERROR: ')}")
    return done.returncode == 0


def main() -> None:
    for extra, target in (("models", None), ("vision", APART)):
        for name, version in pinned(extra).items():
            install(name, fitting(name, version), target)


if __name__ == "__main__":
    main()
