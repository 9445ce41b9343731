"""The wheel of optools: installed without diopigen, with its command and its entry point."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "import torch\nprint((torch.ones(3) + 1).sum().item())\n"


def run(folder: Path, *words: str | Path, **variables: str) -> str:
    """A command in a folder, in an environment without the checkout; what it prints."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(list(map(str, words)), cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_installs_alone(tmp_path: Path) -> None:
    """In an environment that has torch from this one, and nothing else of it."""
    import torch

    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT / "optools"),
    ]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("diopi_optools-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = Parser().parsestr(archive.read(next(name for name in names if name.endswith("/METADATA"))).decode())
    assert all(name.startswith(("optools/", "diopi_optools-")) for name in names)
    assert [text.partition(">")[0] for text in metadata.get_all("Requires-Dist", [])] == ["torch"]

    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env/bin/python"
    (site,) = (tmp_path / "env/lib").glob("python3*/site-packages")
    run(tmp_path, python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    linked = site / "linked"
    linked.mkdir()
    own = Path(torch.__file__).parent.parent
    for name in own.iterdir():  # torch and what it imports, but not the checkout
        if not name.name.startswith(("diopigen", "__editable__", "_diopigen", "pip")) and name.suffix != ".pth":
            (linked / name.name).symlink_to(name)
    (site / "linked.pth").write_text(f"{linked}\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    assert "no operator is wrong" in run(tmp_path, tmp_path / "env/bin/optools", "compare", "train.py")
    printed = run(tmp_path, python, "train.py", OPTOOLS="compare --folder env_compare")
    assert printed.startswith("6.0") and "no operator is wrong" in printed
    assert run(tmp_path, python, "train.py") == "6.0\n"
    assert run(tmp_path, python, "-c", "import importlib.util as u; print(u.find_spec('diopigen'))") == "None\n"
