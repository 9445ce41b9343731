"""The table of likely causes: what failures have in common, and what is usually wrong then.

docs/conformance.md has it as a table, which `tools/write_cause_table.py` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """`sign` is what the failures have in common, `text` what is probably wrong. `{0}` is a name or a value that the
    failures show."""

    code: str
    sign: str
    text: str

    @property
    def record(self) -> dict[str, str]:
        """The cause in a structured report."""
        return {"code": self.code, "text": self.text}


CAUSES = (
    # Values that the results have.
    Cause("unwritten", "results are the bytes 0x7B", "elements of the output are never written: look at the number of "
          "threads or the end of the loop"),
    Cause("all-zero", "results are 0 and should not be", "nothing is stored, or an accumulator is cleared after the loop"),
    Cause("wrong-sign", "results have the opposite sign", "operands of a subtraction are exchanged, or a sign is lost"),
    Cause("unbiased", "results are off by n / (n - 1), or by its root", "the divisor of a variance is n in place of n - "
          "correction, or the reverse (ddof)"),
    Cause("constant-factor", "results are off by the same factor {0}", "a factor is missing or applied twice ({0}), such as "
          "a scale or the number of elements of a mean"),
    Cause("nan-created", "a result is NaN and should be a number", "an intermediate result overflows (inf - inf, inf / "
          "inf): subtract the maximum before an exponential, and sum in float32"),
    Cause("nan-lost", "a result is a number and should be NaN", "comparisons drop NaN: fmax, fmin and a > b ? a : b return "
          "the other operand"),
    Cause("infinity-lost", "a result is finite and should be infinite", "a clamp or fast math saturates infinities at the "
          "largest number"),
    Cause("overflow", "a result is infinite and should be finite", "a sum or product overflows in a narrow type, or an "
          "exponential is taken before the maximum is subtracted"),
    Cause("integers-through-floats", "large integers are off in their last digits", "integers pass through a floating "
          "point type: compute in int64"),
    # Calls that fail, and those of the same function that pass.
    Cause("tail", "only sizes that are no multiple of {0}", "elements behind the last whole vector or block of {0} are "
          "not computed: handle the rest of the loop"),
    Cause("stride-0", "only expanded operands", "a stride of 0 is taken for that of a contiguous tensor, or the output is "
          "written through it"),
    Cause("strides", "only where {0} is not contiguous", "strides are ignored: the kernel walks through memory as "
          "if it were contiguous"),
    Cause("alignment", "only tensors that begin at an odd element", "vector loads or stores assume an aligned address"),
    Cause("broadcast", "only operands of different shapes", "operands are not broadcast to the shape of the output"),
    Cause("empty", "only tensors without elements", "a launch of zero blocks, a division by a size of 0, or an early "
          "return that leaves the output unwritten"),
    Cause("0-d", "only tensors without dimensions", "the shape is read at dimension 0 or -1 without checking the rank"),
    Cause("size-1", "only dimensions of size 1", "the size is used as a divisor or compared with the wrong bound"),
    Cause("in-place", "only an output in the memory of an input", "inputs are read after the output has been written"),
    Cause("large", "only operands of {0} elements or more", "a block, a grid or an index is too small: loop over blocks, "
          "and count in int64"),
    Cause("half", "only 16-bit floats", "intermediate results are rounded to 16 bits: accumulate in float32 and round once"),
    Cause("dtype", "only the dtype {0}", "a branch is missing for {0}, or reads another type"),
    Cause("mixed-dtypes", "only operands of different dtypes", "all operands are read as if they had the dtype of the "
          "first one"),
    Cause("negative-dim", "only dimensions counted from the end", "a negative dimension is not wrapped by the rank"),
    Cause("special", "only NaN, infinities, zeros and denormals", "comparisons and fast math change special values"),
    Cause("null", "only without the optional tensor `{0}`", "a null `{0}` is dereferenced, or read as zeros"),
    Cause("ignored-tensor", "only with the optional tensor `{0}`", "`{0}` is not read"),
    Cause("ignored-argument", "only where `{0}` differs from the usual value", "`{0}` is ignored, or its default is "
          "compiled in"),
    # Kinds of faults, where nothing more is known.
    Cause("no-checks", "every call that must be rejected succeeds", "the contract is not checked: call the checks of the "
          "generated entry, or return an error for the constraint that the case names"),
    Cause("accepts-illegal", "some calls that must be rejected succeed", "a check of the contract is missing; the case "
          "names the constraint or the parameter"),
    Cause("wrong-status", "calls are rejected with another status", "return the status that the constraint names"),
    Cause("unsupported-dtype", "all legal calls of a dtype are rejected", "the kernel does not support {0}"),
    Cause("rejects-legal", "legal calls are rejected: {0}", "a check is stricter than the contract, or the kernel supports "
          "fewer layouts or shapes: {0}"),
    Cause("out-of-bounds", "memory outside of tensors is written", "the index goes past the end, or strides are assumed "
          "contiguous"),
    Cause("input-written", "an input is changed", "a buffer is reused, or an output and an input are mixed up"),
    Cause("writes-before-checks", "a call that fails has written", "check all arguments first, then write"),
    Cause("bool-byte", "a bool is a byte other than 0 and 1", "a comparison stores all ones: store 1"),
    Cause("allocated-output", "an allocated tensor is missing, or has another dtype or shape", "allocate the output with "
          "the dtype and shape of the spec"),
    Cause("distribution", "random numbers have another distribution", "the conversion from bits to numbers, or the ends of "
          "its range"),
    Cause("generator", "the same seed gives other numbers, or the next call the same", "read seed and offset, and advance "
          "the offset by the numbers drawn"),
    Cause("race", "a repeated call has other bytes", "atomics sum in any order, threads race, or memory is read before it "
          "is written"),
    Cause("crash", "the process ends", "an address out of bounds or null is read: run the case under a debugger with "
          "`conformance repro`"),
    Cause("hang", "the call does not return", "a loop does not advance, or threads wait for each other"),
    Cause("unimplemented", "the function returns diopiNoImplement", "no kernel is behind the function"),
    Cause("low-precision", "results are close, and beyond the bound", "an approximation is too coarse, or a sum is rounded "
          "in between: accumulate in the type that the class allows"),
    Cause("formula", "results differ in most calls, by no pattern", "the formula, or the index of an operand, is wrong"),
    # Exports.
    Cause("mangled-name", "the name is exported as that of a C++ function", 'declare the function extern "C"'),
    Cause("defined-elsewhere", "the library needs the function from another one", "define the function in the library"),
    Cause("not-exported", "the library has no such name", "compile the function in, and export it (visibility, version "
          "script)"),
)  # fmt: skip
CAUSE_OF: Mapping[str, Cause] = {cause.code: cause for cause in CAUSES}


def as_markdown() -> str:
    """The table of the documentation."""
    rows = [f"| `{one.code}` | {_named(one.sign)} | {_named(one.text)} |" for one in CAUSES]
    return "\n".join(["| cause | failures have in common | usually |", "| --- | --- | --- |", *rows]) + "\n"


def _named(text: str) -> str:
    return text.replace(": {0}", "").replace("`{0}`", "`x`").replace("{0} is", "an operand is").replace("{0}", "n").replace("|", "\\|")
