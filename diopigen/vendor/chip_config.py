"""Conversions that follow from the file of a chip: the outermost level of a vendor's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from diopigen.chip.model import Chip, NativeOperator
from diopigen.chip.reader import read_chip
from diopigen.config.entries import (
    ContiguousSetting,
    DtypeSetting,
    LayoutSetting,
    ParameterDtype,
    Settings,
    Word,
    WrittenCast,
)
from diopigen.config.model import FunctionRule, TensorRule
from diopigen.config.subject import HELPERS, cannot_convert
from diopigen.contract.dtypes import MANTISSA
from diopigen.diagnostics import Note, Sink, Span
from diopigen.header.rules import ERROR, WARNING, Reporter, Rule, Rules
from diopigen.ir.model import DtypeList, Function, Interface, Parameter

RULES: Rules = {
    "chip-cast-not-taken": Rule(ERROR, "a tensor is converted to a dtype that the chip's kernel takes"),
    "chip-layout-not-taken": Rule(ERROR, "a tensor is converted to a layout that the chip's kernel takes"),
    "chip-operator-missing": Rule(WARNING, "an operator that has a kernel is in the chip's file"),
    "chip-mover-limits": Rule(
        WARNING, "what shims copy and cast with takes the buffers and ranks that other kernels do not"
    ),
    "chip-kernel-missing": Rule(WARNING, "a native operator of the chip's file has a kernel"),
}

_LARGEST_ELEMENT = 16
"""Bytes of the largest element, a complex128."""
_INDEX_DTYPES = frozenset({"bool", "uint8", "int32", "int64"})
_FLOATS = frozenset(MANTISSA)


def chip_of(directory: Path, vendor: str, interface: Interface, sink: Sink) -> Chip | None:
    """The chip of a vendor's folder: NAME.yaml in it, or in the root of the tree `.../impl/NAME` that it is in."""
    candidates = [directory / f"{vendor}.yaml"]
    if directory.parent.name == "impl":
        candidates.append(directory.parent.parent / f"{vendor}.yaml")
    path = next((path for path in candidates if path.is_file()), None)
    return None if path is None else read_chip(path, path.as_posix(), interface, sink)


def settings_of(chip: Chip, interface: Interface) -> Mapping[str, Settings]:
    """Settings of each native operator: its layouts, contiguous tensors, and 32-bit indices if the kernel supports no
    64-bit ones. Values of other 64-bit tensors would lose digits: only a configuration converts them."""
    found: dict[str, Settings] = {}
    everything = (NativeOperator(function.name, span=Span(chip.file, 1, 1)) for function in interface.functions)
    for operator in chip.operators or everything:
        function = interface.function(operator.name)
        if function is not None:
            found[operator.name] = _settings(chip, operator, function)
    return found


def _settings(chip: Chip, operator: NativeOperator, function: Function) -> Settings:
    span = Span(PurePath(operator.span.file).name, operator.span.line, operator.span.column)
    casts = tuple(
        ParameterDtype(Word(param.name, span), DtypeSetting((_cast("int64", "int32", span),), span))
        for param in function.params
        if _is_index(param) and _lacks_int64(chip.dtypes_of(operator))
    )
    layouts = tuple(Word(layout, span) for layout in operator.layouts)
    return Settings(
        tensor_dtype=casts,
        layout=LayoutSetting(layouts, (), span) if layouts else None,
        contiguous=ContiguousSetting(True, (), span) if chip.is_contiguous(operator) else None,
    )


def _cast(source: str, target: str, span: Span) -> WrittenCast:
    return WrittenCast(Word(source, span), Word(target, span))


def _is_index(param: Parameter) -> bool:
    """Returns whether the integers of a tensor are indices or counts: only those of 64 bits, next to floats such as
    shares of classes, or masks instead of indices and no other values."""
    dtypes = frozenset(param.dtype.dtypes if isinstance(param.dtype, DtypeList) else ())
    return "int64" in dtypes and (dtypes <= _INDEX_DTYPES or dtypes - _FLOATS == {"int64"})


def _lacks_int64(dtypes: Sequence[str]) -> bool:
    return "int64" not in dtypes and "int32" in dtypes


def limited(rules: Sequence[FunctionRule], chip: Chip, interface: Interface) -> tuple[FunctionRule, ...]:
    """The rules with the ranks and the alignment that the kernels of the chip take. What shims convert with has none:
    it reads what other kernels do not take."""
    native = {operator.name: operator for operator in chip.operators}
    found = []
    for rule in rules:
        function = interface.function(rule.function)
        operator = native.get(rule.function, NativeOperator(rule.function))
        if function is None or cannot_convert(function):
            found.append(rule)
            continue
        rank, alignment = chip.rank_of(operator), chip.alignment_of(operator)
        tensors = tuple(replace(tensor, max_rank=rank, alignment=alignment) for tensor in rule.tensors)
        found.append(replace(rule, tensors=tensors))
    return tuple(found)


def check_chip(chip: Chip, rules: Mapping[str, FunctionRule], implemented: frozenset[str], sink: Sink) -> None:
    """Reports where configuration, kernels and the chip's file contradict each other."""
    report = Reporter(RULES, sink)
    native = {operator.name: operator for operator in chip.operators}
    for operator in chip.operators:
        if operator.name in implemented and operator.name in rules:
            for tensor in rules[operator.name].tensors:
                _check_tensor(chip, operator, tensor, report)
    _check_movers(chip, report)
    unwritten = [operator for operator in chip.operators if operator.name not in implemented]
    if unwritten:
        message = f"{_some(operator.name for operator in unwritten)}: native on {chip.name}, without a kernel"
        fix = "write kernels, or `diopigen elementwise` where it can; or take them out of the file"
        report("chip-kernel-missing", message, unwritten[0].span, fix=fix)
    unlisted = sorted(implemented - set(native))
    if native and unlisted:
        message = f"{_some(unlisted)}: kernels of {chip.name} that its file does not list as native"
        report("chip-operator-missing", message, Span(chip.file), fix="add them to 'operators', with their dtypes")


def _check_movers(chip: Chip, report: Reporter) -> None:
    """A copy to an aligned buffer reads one that is not; elements are aligned to their own size anyway."""
    for operator in chip.operators:
        alignment = chip.alignment_of(operator)
        if operator.name in HELPERS and alignment > _LARGEST_ELEMENT:
            message = (
                f"{operator.name} takes buffers aligned to {alignment} bytes alone, so that no shim can align others"
            )
            fix = "put it into a group with 'alignment: 1' where its kernel takes any address"
            report("chip-mover-limits", message, operator.span, fix=fix)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")


def _check_tensor(chip: Chip, operator: NativeOperator, tensor: TensorRule, report: Reporter) -> None:
    dtypes = chip.dtypes_of(operator)
    notes = [Note(f"what {operator.name} takes", operator.span)]
    for cast in tensor.casts:
        if cast.target not in dtypes and cast.source not in dtypes:
            message = (
                f"'{tensor.param}' of {operator.name} is converted to {cast.target}, which its kernel does not take"
            )
            fix = f"convert it to one of {', '.join(dtypes)}"
            report("chip-cast-not-taken", message, cast.span, notes=notes, fix=fix)
    wrong = [layout for layout in tensor.layouts if operator.layouts and layout not in operator.layouts]
    if wrong and tensor.layouts_span is not None:
        message = f"'{tensor.param}' of {operator.name} becomes {wrong[0]}, which its kernel does not take"
        fix = f"convert it to one of {', '.join(operator.layouts)}"
        report("chip-layout-not-taken", message, tensor.layouts_span, notes=notes, fix=fix)
