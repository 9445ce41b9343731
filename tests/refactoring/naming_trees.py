"""A small tree in which everything that can name a function or a parameter names some: spec, tables, kernels, cases."""

# ruff: noqa: E501 (lines of a spec are as they are)

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import small_spec
from click.testing import Result

Run = Callable[..., Result]
"""A command line that is carried out."""

FILES = {
    "specs/headers.yaml": """\
headers:
  - {file: diopirt.h, doc: Types., order: []}
  - file: functions.h
    doc: Operators.
    includes: [diopirt.h]
    order:
      - diopiSqueezeRows
      - diopiScale     # the oldest
      - diopiScaleInp
      # in place, by a number
      - diopiScaleInpScalar
      - diopiScaleBackward
""",
    "specs/ops/scaling.yaml": """\
# What is multiplied.
family: scaling
header: functions.h
operators:
  # The first one.
  - name: Scale
    doc: Product of input and other, in which the other is broadcast.
    params:
      - {name: out,   type: tensor, direction: out, dtype: 'promote(input, other)', shape: 'broadcast(input, other)', doc: The product.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: One operand.}
      - {name: other, type: tensor, direction: in, dtype: [floating], shape: 'broadcastable(input)', doc: The other operand.} # kept
      - {name: mode, type: string, values: [other, input], default: other, doc: Which way; as 'other' says.}
    variants:
      - inplace
      - {kind: scalar, params: {other: {dtype: [number]}}, cases: [{input: [2], other: 3}], constraints: []}
      - kind: inplace_scalar
        cases:
          - {input: [2, 3], other: 2}
        constraints: []
        doc: Product of input and other in place.
    kernel: where(mode == 'other', input * other, other * input)
    constraints:
      - {id: C1, require: 'rank(other) <= 2 and mode == "other"', note: 'other has few dimensions, mode is the default',
         error: diopiErrorOccurred, case: {input: [2, 2, 2], other: [2, 2, 2]}}
    cases:
      - {input: [2, 3], other: [3]}
      - {input: [2, 3], other: {shape: [3], dtype: float64}, mode: input}
    tolerance: rounding

  # The gradient.
  - name: ScaleBackward
    doc: Gradient of diopiSqueezeRows, or of something like it.
    params:
      - {name: grad_input, type: tensor, direction: out, dtype: same(grad), shape: same(grad), doc: The gradient.}
      - {name: grad, type: tensor, direction: in, dtype: [floating], shape: any, doc: What arrives.}
      - {name: other, type: tensor, direction: in, dtype: same(grad), shape: same(grad), doc: The factor.}
    kernel: grad * other
    backward_of: Scale
    tolerance: rounding
""",
    "specs/ops/squeezing.yaml": """\
family: squeezing
header: functions.h
operators:
  - name: SqueezeRows
    doc: Each sum is of rows neighbours.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: ['R // rows', C], doc: The sums.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: [R, C], doc: Rows of the matrix.}
      - {name: rows, type: int64, range: '[1, size(input, 0)]', default: 1, doc: How many rows are one.}
    constraints:
      - {id: C1, require: 'divides(rows, R)', error: diopiErrorOccurred, case: {input: [4, 2], rows: 3}}
    cases:
      - {input: [4, 2], rows: 2}
    tolerance: reduction  # over rows
""",
    "specs/dlinfer.yaml": """\
release: '1'
operators:
  - {dlinfer: multiply, parameters: [x, y], call: Scale, arguments: {out: x, input: x, other: y}, returns: x}
  - {dlinfer: halve, parameters: [x], returns: x / 2}
""",
    "specs/relax.yaml": """\
release: '0.27'
operators:
  - {relax: multiply, call: Scale, arguments: {input: x0, other: x1}}
  # rows of a matrix
  - {relax: sum, call: SqueezeRows, arguments: {input: x0, rows: rows}}
fused:
  - doc: A product of a product.
    match: multiply(multiply(input, other), other)
    call: Scale
    operator: multiply
    shapes: {other: [any], input: ['other.0']}
""",
    "specs/models/net.yaml": """\
model: net
doc: A net.
torch: '2.13.0'
calls:
  - {phase: forward, function: Scale, dtype: float32, count: 2, aten: mul.Tensor, arguments: {input: [2, 3], other: [3]}}
  - {phase: forward, function: SqueezeRows, dtype: float32, count: 1, aten: sum, arguments: {input: [4, 3], rows: 2}}
  - {phase: forward, function: Scale, dtype: float32, count: 3, aten: mul.Tensor, arguments: {input: [2, 2], other: [2]}}
unmapped: []
views:
  - {phase: forward, aten: view, count: 3}
allocations: []
""",
    "specs/torch.yaml": """\
handwritten:
  # for halves
  - {overload: mul.out, calls: [Scale], why: meaning}
  - {overload: dot, calls: [Scale, SqueezeRows], why: composition}
left_out: []
""",
    "impl/cpu/functions/scaling.cpp": """\
#include "scaling.h"

namespace diopigen::entry {

// args.other is of any rank
void scale(const ScaleArgs& args) {
    require(args.other.rank() <= 2, "args.other");
    product(args, args.input, args . other);
}

void scale_backward(const ScaleBackwardArgs& args) { multiply(args.grad, args.other); }

}  // namespace diopigen::entry
""",
    "impl/cpu/functions/scaling.h": """\
template <typename Args>
void product(const Args& args, const Tensor& one, const Tensor& two) {
    multiply(one, two, args.other.dtype());
}
""",
    "impl/acme/convert_config.yaml": """\
- diopiScale:
    layout: NHWC, other(NCHW)   # other tensors as they are
    tensor_dtype:
      other: (float64)->float32
- diopiScaleBackward:
    layout: NCHW, other(NHWC)
""",
    "tests/data/host_calls/calls.yaml": """\
- functions: [Scale]
  dtypes: [float32]
  forms:
    - {form: a row, call: {input: [2, 3], other: [3]}}
- functions: [Scale, ScaleBackward]
  dtypes: [float32]
  forms:
    - {form: both, call: {other: [3]}}
""",
    "tests/data/published_calls/scaling.jsonl": """\
{"calls":[["Scale",{"out":"#0[2]","input":"#0[2] normal 0","other":"#0[2] ones"}],["ScaleBackward",{"grad_input":"#0[2]","grad":"&0.out","other":"&0.other"}]]}
""",
    "tests/test_scaling.py": """\
CALL = ("diopiScale", {"other": 2})
OTHER = ("diopiScaled", {"other": 2})
""",
}


def write(root: Path) -> None:
    """The tree, with the dtypes and types of the real spec."""
    small_spec.write(root / "specs")
    (root / "specs/ops/example.yaml").unlink()
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def changed(root: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The lines of each file that are gone and those that are new, in order, by path; a file that is gone has no new
    ones."""
    result = {}
    for name, text in FILES.items():
        now = (root / name).read_text().splitlines() if (root / name).exists() else []
        before = text.splitlines()
        if before != now:
            result[name] = ([x for x in before if x not in now], [x for x in now if x not in before])
    return result


def left(result: Result) -> list[str]:
    """Positions of manual work, warnings and notes apart, without columns."""
    lines = [line for line in result.stderr.splitlines() if "[left-by-hand]" in line]
    return [f"{line.split(':')[0]}:{line.split(':')[1]} {line.split(': ')[1].split('[')[0]}" for line in lines]
