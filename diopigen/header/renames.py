"""Functions that have another name in a new version of an interface: shared by `breaking` and `check`."""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.header.cdecl import CFunction, CInterface
from diopigen.header.compare import Types, nearest_function


def renames(old: CInterface, new: CInterface) -> dict[str, str]:
    """Old names to new ones: functions of `old` that are gone and those of `new` that are the same under another name,
    with the same parameters and result, and either the same documentation or nearly the same name."""
    before = {function.name: function for function in old.functions}
    after = {function.name: function for function in new.functions}
    removed = {name: function for name, function in before.items() if name not in after}
    added = {name: function for name, function in after.items() if name not in before}
    return _matched(removed, added, Types(old, new))


def _matched(removed: Mapping[str, CFunction], added: Mapping[str, CFunction], types: Types) -> dict[str, str]:
    found: dict[str, str] = {}
    left = dict(added)
    for by_purpose in (True, False):
        for name, function in removed.items():
            if name in found:
                continue
            alike = [other for other in left if _same_signature(function, left[other], types)]
            if by_purpose:
                said = function.purpose
                alike = [other for other in alike if said and left[other].purpose == said]
            longer = [other for other in alike if other.startswith(name) or name.startswith(other)]
            only = alike if by_purpose else longer  # diopiPlusScalar and diopiPlusScalarInp
            like = nearest_function(name, alike) or (only[0] if len(only) == 1 else None)
            if like is not None:
                found[name] = like
                del left[like]
    return found


def _same_signature(old: CFunction, new: CFunction, types: Types) -> bool:
    if [param.name for param in old.params] != [param.name for param in new.params] or old.weak != new.weak:
        return False
    pairs = (types.of_params(one, two) for one, two in zip(old.params, new.params, strict=True))
    before, after = types.of_returns(old, new)
    return before == after and all(one == two for one, two in pairs)
