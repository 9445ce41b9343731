"""The levels put together: common_config, family, operator, parameter; the innermost that speaks wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from diopigen.config.entries import ContiguousSetting, DtypeSetting, Entry, LayoutSetting, Settings, Word
from diopigen.config.grammar import convertible
from diopigen.config.model import LAYOUTS, Cast, FunctionRule, TensorRule
from diopigen.config.subject import cannot_convert
from diopigen.diagnostics import Span
from diopigen.ir.model import Function

_RANKS = {"NCL": 3, "NLC": 3, "NCHW": 4, "NHWC": 4, "NCDHW": 5, "NDHWC": 5}
_ROW_MAJOR = frozenset({"NCL", "NCHW", "NCDHW"})
_ANY = "ND"


def merge(earlier: Settings, later: Settings) -> Settings:
    """Two entries for the same thing as one: key for key, the later wins where both speak."""
    dtypes = {entry.param.text: entry for entry in (*earlier.tensor_dtype, *later.tensor_dtype)}
    return Settings(
        dtype=later.dtype or earlier.dtype,
        tensor_dtype=tuple(dtypes.values()),
        layout=_merge_layouts(earlier.layout, later.layout),
        contiguous=_merge_contiguous(earlier.contiguous, later.contiguous),
    )


def _merge_layouts(earlier: LayoutSetting | None, later: LayoutSetting | None) -> LayoutSetting | None:
    if earlier is None or later is None:
        return later or earlier
    by_param = {entry.param.text: entry for entry in (*earlier.by_param, *later.by_param)}
    if later.layouts:
        return replace(later, by_param=tuple(by_param.values()))
    return replace(earlier, by_param=tuple(by_param.values()))


def _merge_contiguous(earlier: ContiguousSetting | None, later: ContiguousSetting | None) -> ContiguousSetting | None:
    if earlier is None or later is None or later.value is not None:
        return later or earlier
    return replace(earlier, params=(*earlier.params, *later.params))


def _without_params(settings: Settings) -> Settings:
    """Settings for all tensors: parameters have no meaning outside an operator."""
    layout, contiguous = settings.layout, settings.contiguous
    return replace(
        settings,
        tensor_dtype=(),
        layout=replace(layout, by_param=()) if layout and layout.layouts else None,
        contiguous=contiguous if contiguous and contiguous.value is not None else None,
    )


@dataclass(frozen=True, slots=True)
class Levels:
    """The merged entries of a file: for all, by family, by operator."""

    common: Settings
    families: dict[str, Settings]
    operators: dict[str, Settings]

    def of(self, function: Function) -> tuple[Settings, ...]:
        """Settings for a function, the innermost level first."""
        own = self.operators.get(function.name)
        return (own, *self.outer(function)) if own else self.outer(function)

    def outer(self, function: Function) -> tuple[Settings, ...]:
        """The levels around an operator's own."""
        family = self.families.get(function.family)
        return (family, self.common) if family else (self.common,)


def levels(entries: Iterable[Entry]) -> Levels:
    """The entries of each level, merged where there is more than one for the same thing."""
    common = Settings()
    by_level: dict[str, dict[str, Settings]] = {"family": {}, "operator": {}}
    for entry in entries:
        if entry.level == "common":
            common = merge(common, _without_params(entry.settings))
        else:
            named = by_level[entry.level]
            own = entry.settings if entry.level == "operator" else _without_params(entry.settings)
            named[entry.name.text] = merge(named.get(entry.name.text, Settings()), own)
    return Levels(common, by_level["family"], by_level["operator"])


class RuleMaker:
    """Makes the rule of a function out of what its levels say, the innermost first."""

    def __init__(self, known_dtypes: Iterable[str]) -> None:
        self._known = frozenset(known_dtypes)
        self._effective: dict[int, tuple[DtypeSetting, tuple[Cast, ...]]] = {}

    def function_rule(self, function: Function, said: Sequence[Settings]) -> FunctionRule:
        """Resolved settings of a function. Where nothing can be converted, no rule of any level does."""
        names = convertible(function)
        if cannot_convert(function):
            return FunctionRule(function.name, tuple(TensorRule(name) for name in names))
        return FunctionRule(function.name, tuple(self._tensor_rule(name, said) for name in names))

    def _tensor_rule(self, name: str, said: Sequence[Settings]) -> TensorRule:
        selected = _layouts(name, said)
        contiguous, contiguous_span = _contiguous(name, said)
        setting = _dtype_setting(name, said)
        return TensorRule(
            name,
            casts=self._casts(setting) if setting else (),
            layouts=selected.layouts,
            layouts_span=selected.span,
            common_layouts=selected.fallback,
            common_spans=selected.fallback_spans,
            contiguous=contiguous,
            contiguous_span=contiguous_span,
        )

    def _casts(self, setting: DtypeSetting) -> tuple[Cast, ...]:
        """The casts that do something, each source once. One setting serves hundreds of tensors."""
        seen = self._effective.get(id(setting))
        if seen is None:
            found: dict[str, Cast] = {}
            for cast in setting.casts:
                source, target = cast.source.text, cast.target.text
                if source != target and source in self._known and target in self._known:
                    found.setdefault(source, Cast(source, target, cast.source.span))
            seen = (setting, tuple(found.values()))
            self._effective[id(setting)] = seen
        return seen[1]


def _dtype_setting(name: str, said: Sequence[Settings]) -> DtypeSetting | None:
    for settings in said:
        own = [entry.setting for entry in settings.tensor_dtype if entry.param.text == name]
        if own:
            return own[-1]
        if settings.dtype is not None:
            return settings.dtype
    return None


@dataclass(frozen=True, slots=True)
class _Layouts:
    layouts: tuple[str, ...] = ()
    span: Span | None = None
    fallback: tuple[str, ...] = ()
    fallback_spans: tuple[Span, ...] = ()


def _layouts(name: str, said: Sequence[Settings]) -> _Layouts:
    """The layouts that hold for a tensor: its innermost list, and what outer lists say for the ranks it leaves open.

    One of NCL, NCHW and NCDHW speaks for every rank, since in the order of the dimensions is a layout for each; so
    does ND. Lists up to the last one that has a say are put together; that one stays apart, so that it speaks for
    ranks without a name too.
    """
    lists: list[tuple[tuple[str, ...], Span]] = []
    for written, span in _layout_lists(name, said):
        lists.append((written, span))
        if _ANY in written or not _ROW_MAJOR.isdisjoint(written):
            break
    if not lists:
        return _Layouts()
    (layouts, span), *outer = lists
    if _ANY in layouts:
        return _Layouts((), span)
    if not outer:
        return _Layouts(layouts, span)
    *between, (last, last_span) = outer
    spans: list[Span] = []
    for written, location in between:
        new = _open_ranks(layouts, written)
        layouts += new
        spans += [location] if new else []
    if _ROW_MAJOR.isdisjoint(last):
        last = () if _ANY in last else _open_ranks(layouts, last)
    return _Layouts(layouts, span, last, (*spans, last_span) if last else tuple(spans))


def _layout_lists(name: str, said: Sequence[Settings]) -> Iterator[tuple[tuple[str, ...], Span]]:
    """Every list that is about a tensor, the innermost first, without what is no layout."""
    for settings in said:
        if settings.layout is None:
            continue
        own = [entry for entry in settings.layout.by_param if entry.param.text == name]
        if own and own[-1].layouts:
            yield _known(own[-1].layouts), own[-1].param.span
        if settings.layout.layouts:
            yield _known(settings.layout.layouts), settings.layout.span


def _known(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.text for word in words if word.text in LAYOUTS))


def _open_ranks(layouts: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """The layouts in `more` for ranks that `layouts` does not name."""
    named = {_RANKS[layout] for layout in layouts}
    return tuple(layout for layout in more if _RANKS[layout] not in named)


def _contiguous(name: str, said: Sequence[Settings]) -> tuple[bool, Span | None]:
    for settings in said:
        setting = settings.contiguous
        if setting is None:
            continue
        named = [word for word in setting.params if word.text == name]
        if named:
            return True, named[-1].span
        if setting.value is not None:
            return setting.value, setting.span
    return False, None
