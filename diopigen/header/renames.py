"""Functions and parameters that have another name in a new version of an interface, for `breaking` and `check`."""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.header.cdecl import CFunction, CInterface, CParam
from diopigen.header.compare import Types, nearest_function


def renames(old: CInterface, new: CInterface) -> dict[str, str]:
    """Old names to new ones: functions of `old` that are gone and those of `new` that are the same under another name,
    with the same parameters and result, and either the same documentation, nearly the same name, or one that goes on
    where the other ends."""
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
            closest = alike if by_purpose else longer
            like = nearest_function(name, alike) or (closest[0] if len(closest) == 1 else None)
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


def renamed_params(old: CFunction, new: CFunction, types: Types) -> dict[str, str]:
    """Old names to new ones: parameters of one type, of which one is gone and one is new between the same others."""
    gone, added = _between(old, new), _between(new, old)
    found = {}
    for neighbours, params in gone.items():
        for param in params:
            alike = [one for one in added.get(neighbours, ()) if _same_type(param, one, types)]
            rivals = [one for one in params if alike and _same_type(one, alike[0], types)]
            if len(alike) == len(rivals) == 1:
                found[param.name] = alike[0].name
    return found


def _between(function: CFunction, other: CFunction) -> dict[tuple[str, str], list[CParam]]:
    """The parameters that the other version lacks, by the names of those that it has before and behind them."""
    shared = {param.name for param in other.params}
    groups: dict[tuple[str, str], list[CParam]] = {}
    before, open_group = "", list[CParam]()
    for param in function.params:
        if param.name and param.name not in shared:
            open_group.append(param)
            continue
        groups[before, param.name] = open_group
        before, open_group = param.name, []
    groups[before, ""] = open_group
    return groups


def _same_type(old: CParam, new: CParam, types: Types) -> bool:
    before, after = types.of_params(old, new)
    return before == after
