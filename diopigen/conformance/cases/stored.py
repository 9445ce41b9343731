"""The cases of an interface out of the cache: deriving all of them takes longer than most libraries run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diopigen.conformance.cases.suite import cases_of, tested
from diopigen.conformance.model import Case
from diopigen.ir.model import Function, Interface
from diopigen.output import cache

_KIND = "cases"


class StoredCases:
    """The cases of functions, derived where the cache has none under `key` (None: no cache). Once those of all
    functions are derived they are kept, each function's apart, so that a run of one does not read all. An interface
    that is not the whole one of the key (`is_whole`) reads the cache and leaves it as it is."""

    def __init__(self, interface: Interface, key: str | None, *, is_whole: bool = True) -> None:
        self._interface = interface
        self._key, self._stores = key, is_whole
        stored = cache.read(_KIND, key) if key else None
        self._stored: Mapping[str, bytes] = stored or {}
        self._derived: dict[str, bytes] = {}

    def of(self, function: Function) -> Sequence[Case]:
        """The cases of a function, as `suite.cases_of` has them."""
        if function.name in self._stored:
            found: Sequence[Case] = cache.unpacked(self._stored[function.name])
            return found
        cases = cases_of(self._interface, function)
        if self._key and self._stores and not self._stored:
            self._derived[function.name] = cache.packed(cases)
            if len(self._derived) == len(tested(self._interface)):
                cache.write(_KIND, self._key, self._derived)
                self._stored = self._derived
        return cases
