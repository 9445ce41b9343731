"""A spec of a few operators with the dtypes and types of the real one: read in a tenth of a second."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = """\
headers:
  - {file: diopirt.h, doc: Types., order: []}
  - {file: functions.h, doc: Operators., includes: [diopirt.h], order: []}
"""
OPERATOR = """\
family: example
header: functions.h
operators:
  - name: Example
    doc: An operator.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
    kernel: 2 * input
    tolerance: rounding
"""


def write(spec: Path, operators: str = OPERATOR) -> None:
    """Writes the spec to a new folder; `operators` is its file of operators, ops/example.yaml."""
    (spec / "ops").mkdir(parents=True)
    shutil.copyfile(ROOT / "specs/types.yaml", spec / "types.yaml")
    (spec / "headers.yaml").write_text(HEADERS)
    (spec / "ops/example.yaml").write_text(operators)
