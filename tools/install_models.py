"""Installs the packages of the extras `models` and `vision` for `make test-models`: `install_models.py FOLDER`.

Those of `vision` go to FOLDER, without what they ask for: torchvision asks for a torch of its own, and a wheel of it
that does not fit breaks every package that looks for it. A package that the index lacks is named in a line and
left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

EXTRA = re.compile(r"""^(?P<name>[\w.-]+)==(?P<version>[\w.]+) *; *extra == ["'](?P<extra>\w+)["']$""")


def pinned(extra: str) -> dict[str, str]:
    """Versions by package of an extra of diopigen."""
    found = (EXTRA.match(text) for text in metadata.requires("diopigen") or ())
    return {match["name"]: match["version"] for match in found if match is not None and match["extra"] == extra}


def installed(name: str, folder: Path | None) -> str | None:
    """The version of a package that is there; None where it is not."""
    paths = sys.path if folder is None else [str(folder)]
    return next((one.version for one in metadata.distributions(name=name, path=paths)), None)


def install(name: str, version: str, folder: Path | None) -> bool:
    """Returns whether the package is there now."""
    if installed(name, folder) == version:
        return True
    torch = f"torch=={metadata.version('torch').partition('+')[0]}"
    options = [torch] if folder is None else ["--no-deps", "--upgrade", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options]
    done = subprocess.run([*command, f"{name}=={version}"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = next((line for line in done.stderr.splitlines() if line.startswith("ERROR:")), "ERROR: pip failed")
        print(f"models       {name} {version} is left out: {reason.removeprefix('ERROR: ')}")
    return done.returncode == 0


def main(folder: Path) -> None:
    for extra, target in (("models", None), ("vision", folder)):
        for name, version in pinned(extra).items():
            install(name, version, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
