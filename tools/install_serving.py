"""Makes the environment of `make test-serving`: `install_serving.py FOLDER` (docs/serving.md has the same by hand).

vLLM's wheel asks for CUDA's packages and for Triton, so it is installed without what it asks for, and the rest is in
tests/serving/requirements.txt. The project's packages are linked, so that a change needs no second installation.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VLLM = "vllm==0.32.0"
TORCH = "torch==2.13.0"
LINKED = {
    "diopi-torch": ("diopi_torch/src", "[torch_dynamo_backends]\ndiopi = diopi_torch.graphs:backend\n"),
    "torch-droplet": ("examples/droplet", "[torch.backends]\ntorch_droplet = torch_droplet:_autoload\n"),
    "vllm-diopi": (
        "vllm_diopi/src",
        "[vllm.platform_plugins]\ndiopi = vllm_diopi:platform\n[vllm.general_plugins]\ndiopi = vllm_diopi:register\n",
    ),
}
"""Folder and entry points of the project's packages, by name."""


def main(folder: Path) -> None:
    python = folder / "bin/python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for arguments in (
        ["install", TORCH],
        ["install", "--no-deps", VLLM],
        ["install", "--requirement", str(ROOT / "tests/serving/requirements.txt")],
    ):
        subprocess.run([*pip, *arguments], check=True)
    # A package of the list asks for Triton, which looks for CUDA's driver when it is imported.
    subprocess.run([*pip, "uninstall", "--yes", "triton"], check=True)
    link(next((folder / "lib").glob("python3*/site-packages")))


def link(packages: Path) -> None:
    """Writes what an editable installation of the project's packages would: a path and the metadata of each."""
    for name, (_, entry_points) in LINKED.items():
        metadata = packages / f"{name.replace('-', '_')}-0.dist-info"
        metadata.mkdir(exist_ok=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
        (metadata / "entry_points.txt").write_text(entry_points)
    (packages / "diopi_serving.pth").write_text("".join(f"{ROOT / source}\n" for source, _ in LINKED.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
