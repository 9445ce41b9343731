"""Writes `specs/aten/torch.yaml`: the schema of every ATen overload of the installed torch.

The check of the spec against ATen must give the same answer on machines without torch, so the schemas are kept as data.
Run it with the Python that has torch: `python tools/snapshot_aten.py specs/aten/torch.yaml`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torchgen
from torchgen.gen import parse_native_yaml

HEAD = """\
# yaml-language-server: $schema=../../generated/schema/aten.schema.json
# Every overload of native_functions.yaml in the torch wheel, the generated out variants included.
# Written by tools/snapshot_aten.py.
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def main() -> None:
    target = Path(sys.argv[1])
    package = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(package / "native_functions.yaml"), str(package / "tags.yaml"))
    schemas = sorted(str(function.func) for function in parsed.native_functions)
    release = (Path(torchgen.__file__).parent.parent / "torch" / "version.py").read_text(encoding="utf-8")
    version = release.split("__version__ = ")[1].split("'")[1].partition("+")[0]
    lines = [f"torch: '{version}'", "schemas:", *(f"  - {_quoted(schema)}" for schema in schemas)]
    target.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
