"""A configuration checked by every rule, and resolved to a table for every function of the interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, TypeVar, cast

from diopigen.config import conversions, names, repeats, vendor_kernels
from diopigen.config.entries import ConfigFile, Settings
from diopigen.config.grammar import convertible
from diopigen.config.levels import RuleMaker, levels
from diopigen.config.model import ResolvedConfig
from diopigen.config.subject import Subject
from diopigen.diagnostics import Sink, Span
from diopigen.ir.model import Interface

_Value = TypeVar("_Value")


def resolve(
    config: ConfigFile,
    interface: Interface,
    vendor_name: str,
    implemented: Collection[str],
    sink: Sink,
    *,
    outermost: Mapping[str, Settings] | None = None,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> ResolvedConfig:
    """The table of a vendor that implements the functions `implemented`; all findings go to `sink`.

    `outermost` is what holds for a function where the file says nothing (vendor/chip_config.py), `renamed` old names of
    functions to new ones. Entries in error are left out of the table. Positions in the table name the file without its
    folder, so that what is generated from it is the same on every machine.
    """
    subject = Subject(config, interface, vendor_name, implemented, renamed)
    file = PurePath(config.file).name
    said = levels(_in_file(entry, file) for entry in config.entries)
    maker = RuleMaker(subject.dtypes)
    rules = {
        function.name: maker.function_rule(function, (*said.of(function), *_outermost(outermost, function.name)))
        for function in subject.operators.values()
        if convertible(function)
    }
    sound = names.check(subject, sink)
    conversions.check(subject, sink)
    repeats.check(subject, said, sound, outermost or {}, sink)
    vendor_kernels.check(subject, rules, sink)
    return ResolvedConfig(vendor_name, file, tuple(rules.values()), subject.implemented)


def _outermost(settings: Mapping[str, Settings] | None, function: str) -> tuple[Settings, ...]:
    found = None if settings is None else settings.get(function)
    return () if found is None else (found,)


def _in_file(value: _Value, file: str) -> _Value:
    """The same value with places in another file."""
    nested: Any = value
    if isinstance(value, Span):
        nested = replace(value, file=file)
    elif isinstance(value, tuple):
        nested = tuple(_in_file(item, file) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: _in_file(getattr(value, field.name), file) for field in fields(value)}
        nested = replace(value, **changed)
    return cast(_Value, nested)
