"""Makes the environment of `make test-serving`: `install_serving.py FOLDER`, with `--torch 2.14.1` that of this torch
and the vLLM that goes with it.

vLLM's wheel asks for CUDA's packages and for Triton, so it is installed without what it asks for, and the rest is in
tests/serving/requirements.txt. The project's packages are linked, so that a change needs no second installation.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VLLM = {"2.13.0": "0.32.0", "2.14.1": "0.33.0"}
"""Releases of torch, each with that of vLLM."""
LINKED = {"diopi_torch": "src", "vllm_diopi": "src"}
"""Folders of the project's packages, each with that of its modules."""
VENDOR = "examples/droplet"
"""The package of a device, which processes find by `PYTHONPATH=FOLDER/droplet`: a process has one device."""
TABLE = re.compile(r'^\[project\.entry-points\."(.*)"\]$')


def main(folder: Path, torch: str) -> None:
    python = folder / "bin/python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for arguments in (
        ["install", f"torch=={torch}"],
        ["install", "--no-deps", f"vllm=={VLLM[torch]}"],
        ["install", "--requirement", str(ROOT / "tests/serving/requirements.txt")],
    ):
        subprocess.run([*pip, *arguments], check=True)
    # A package of the list asks for Triton, which looks for CUDA's driver when it is imported.
    subprocess.run([*pip, "uninstall", "--yes", "triton"], check=True)
    link(next((folder / "lib").glob("python3*/site-packages")))
    link_vendor(folder / "droplet")


def link(packages: Path) -> None:
    """Writes what an editable installation of the project's packages would: a path and the metadata of each."""
    for old in packages.glob("*-0.dist-info"):
        shutil.rmtree(old)
    for folder in LINKED:
        describe(packages, folder)
    paths = [f"{ROOT / folder / modules}\n" for folder, modules in LINKED.items()]
    (packages / "diopi_serving.pth").write_text("".join(paths))


def link_vendor(packages: Path) -> None:
    """Makes a folder with the package of the device and its metadata."""
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir()
    describe(packages, VENDOR)
    (packages / "torch_droplet").symlink_to(ROOT / VENDOR / "torch_droplet")


def describe(packages: Path, folder: str) -> None:
    """Writes the metadata of a package."""
    text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^name = "(.*)"$', text, re.MULTILINE)
    assert found is not None, folder
    metadata = packages / f"{found[1].replace('-', '_')}-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {found[1]}\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text(entry_points(text))


def entry_points(pyproject: str) -> str:
    """The entry points of a pyproject.toml in the form of their metadata. Python 3.10 cannot read TOML."""
    lines: list[str] = []
    is_inside = False
    for line in pyproject.splitlines():
        table = TABLE.match(line)
        is_inside = table is not None or (is_inside and not line.startswith("["))
        if table is not None:
            lines.append(f"[{table[1]}]")
        elif is_inside and "=" in line:
            lines.append(line.replace('"', ""))
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--torch", choices=VLLM, default=next(iter(VLLM)))
    options = parser.parse_args()
    main(options.folder, options.torch)
