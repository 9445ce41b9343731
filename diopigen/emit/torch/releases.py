"""Guards of the preprocessor for overloads that some releases of torch lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from diopigen.ir.aten_model import Aten, release_number


def guarded(aten: Aten, lines: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of C++, each after its overload, in the releases alone that have the overload."""
    return _guarded(aten, [(aten.releases_of.get(overload, aten.releases), line) for overload, line in lines])


def guarded_headers(aten: Aten, headers: Mapping[str, str]) -> list[str]:
    """Includes of headers, by the overloads that need them, in the releases that have one of these."""
    releases: dict[str, set[str]] = {}
    for overload, header in headers.items():
        releases.setdefault(header, set()).update(aten.releases_of.get(overload, aten.releases))
    return _guarded(aten, [(tuple(releases[header]), f"#include <{header}>") for header in sorted(releases)])


def _guarded(aten: Aten, lines: Iterable[tuple[Iterable[str], str]]) -> list[str]:
    texts = []
    for condition, group in groupby(lines, lambda line: _condition(aten, frozenset(line[0]))):
        own = [text for _, text in group]
        texts += [f"#if {condition}", *own, "#endif"] if condition else own
    return texts


def _condition(aten: Aten, having: frozenset[str]) -> str:
    """The condition that holds in releases; empty for all. Releases between two of them count as the earlier one."""
    alternatives = []
    for has, run in groupby(aten.releases, lambda release: release in having):
        releases = list(run)
        if not has:
            continue
        terms = [] if releases[0] == aten.releases[0] else [_since(releases[0])]
        if releases[-1] != aten.releases[-1]:
            terms.append(f"!{_since(aten.releases[aten.releases.index(releases[-1]) + 1])}")
        alternatives.append(" && ".join(terms))
    return " || ".join(f"({text})" if len(alternatives) > 1 and " && " in text else text for text in alternatives)


def _since(release: str) -> str:
    major, minor, *_ = release_number(release)
    return f"DIOPIGEN_TORCH_SINCE({major}, {minor})"
