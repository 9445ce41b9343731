"""Composite operators: functions that a vendor lacks, made of other public functions of the interface."""

from __future__ import annotations

from diopigen.ir.model import Function, Interface


def composite_names(interface: Interface) -> frozenset[str]:
    """The functions that have a composite implementation."""
    return frozenset()


def composite_definition(function: Function) -> str:
    """The definition of the public function."""
    raise NotImplementedError
