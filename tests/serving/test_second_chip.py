"""kestrel, of which only the chip's file is written by hand, serves with the program of its scaffolded tree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from built import BUILT

ROOT = Path(__file__).resolve().parents[2]
TREE = BUILT / "build/tests/kestrel/written/kestrel"
LIBRARIES = {
    "TORCH_KESTREL_LIBRARIES": BUILT / "kestrel/served",
    "DIOPI_VENDOR_LIBRARY": BUILT / "kestrel/libdiopi_impl.so",
    "DIOPI_REFERENCE_LIBRARY": BUILT / "libdiopi_impl.so",
}
OWN = "print('layers of kestrel')"


def test_a_scaffolded_tree_serves(environment: dict[str, str], tmp_path: Path) -> None:
    package = tmp_path / "torch_kestrel"
    shutil.copytree(TREE / "torch_kestrel", package)
    hook = (package / "serving.py").read_text()
    (package / "serving.py").write_text(f"{hook}    {OWN}\n")
    variables = {name: value for name, value in environment.items() if "DROPLET" not in name}
    variables |= {name: str(path) for name, path in LIBRARIES.items()}
    variables |= {"DIOPI_FALLBACK": "log", "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, str(TREE / "test/serve.py")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    tokens = dict(re.findall(r"^(kestrel|cpu): (.+)$", done.stdout, re.MULTILINE))
    assert tokens["kestrel"] == tokens["cpu"]
    assert "layers of kestrel" in done.stdout
    left = set(re.findall(r"^diopi: (?:the .* leaves )?diopi(\w+)", done.stderr, re.MULTILINE))
    page = (ROOT / "docs/serving.md").read_text()
    (text,) = re.findall(r"^On kestrel,.*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", text)) == left
