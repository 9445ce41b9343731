"""Builds the wheels of a release in build/wheels and tries their commands in a new environment.

`python tools/wheels.py` installs diopigen with what it depends on, and the packages that need torch without it;
`--torch` installs torch too, some 200 MB, and imports them. The version of each wheel must be that of the checkout.
Exit code 1 where a step fails.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/wheels"
PROJECTS = {
    "diopigen": ".",
    "diopi_torch": "diopi_torch",
    "diopi_optools": "optools",
    "dlinfer_diopi": "dlinfer_diopi",
    "vllm_diopi": "vllm_diopi",
}
"""The folders of the packages. The module `diopi_ffi` is in the wheel of diopigen."""
COMMANDS = (
    "diopigen --version",
    "diopigen check",
    "diopigen cmake-dir",
    "optools --help",
    "python -c 'import diopi_ffi.library, diopi_ffi.relax_table'",
)
WITH_TORCH = (
    "python -c 'import diopi_torch.graphs, optools.comparing'",
    # Without a vendor's package there is no device, and vLLM chooses another platform.
    """python -c 'from importlib.metadata import entry_points as found
for group in ("platform", "general"): (one,) = found(group=f"vllm.{group}_plugins"); assert one.load()() is None'""",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", action="store_true", help="install torch as well, and import what needs it")
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        wheels = build(FOLDER)
        programs = environment(FOLDER / "environment", wheels, torch=options.torch)
        for command in (*COMMANDS, *(WITH_TORCH if options.torch else ())):
            run(f"{programs}/{command}", FOLDER, shell=True)
    except subprocess.CalledProcessError as error:
        print(f"wheels: failed with exit code {error.returncode}: {error.cmd}\n{error.output}", file=sys.stderr)
        return 1
    print(f"wheels: {', '.join(wheel.name for wheel in wheels.values())}: installed, and their commands work")
    return 0


def run(command: str | list[str | Path], folder: Path, *, shell: bool = False) -> str:
    """Runs a command without the variables of the checkout. Raises `CalledProcessError`."""
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    output = subprocess.PIPE
    done = subprocess.run(
        command, cwd=folder, env=variables, shell=shell, stdout=output, stderr=subprocess.STDOUT, text=True, check=True
    )
    return done.stdout


def build(folder: Path) -> dict[str, Path]:
    """The wheel of each project, with the version of the checkout."""
    sources = [str(ROOT / project) for project in PROJECTS.values()]
    folder.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run([*pip, "--wheel-dir", folder, *sources], folder)
    version = run([sys.executable, "-c", "import diopigen; print(diopigen.__version__)"], ROOT).strip()
    return {name: folder / f"{name}-{version}-py3-none-any.whl" for name in PROJECTS}


def environment(folder: Path, wheels: dict[str, Path], *, torch: bool) -> Path:
    """The programs of a new environment with the wheels."""
    run([sys.executable, "-m", "venv", "--without-pip", folder], ROOT)
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", folder / "bin/python"]
    install: list[str | Path] = [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    run([*install, f"{wheels['diopigen']}[ffi]"], ROOT)
    others = [wheel for name, wheel in wheels.items() if name != "diopigen"]
    run([*install, *([] if torch else ["--no-deps"]), *others], ROOT)
    return folder / "bin"


if __name__ == "__main__":
    sys.exit(main())
