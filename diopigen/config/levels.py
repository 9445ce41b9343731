"""The levels put together: common_config, family, operator, parameter; the innermost that speaks wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from diopigen.config.entries import ContiguousSetting, DtypeSetting, FlagSetting, LayoutSetting, Settings, Word
from diopigen.config.grammar import convertible
from diopigen.config.model import LAYOUTS, Cast, FunctionRule, TensorRule
from diopigen.config.subject import Subject, cannot_convert
from diopigen.diagnostics import Span
from diopigen.ir.model import Function

RANKS = {"NCL": 3, "NLC": 3, "NCHW": 4, "NHWC": 4, "NCDHW": 5, "NDHWC": 5}
ANY = "ND"


def merge(earlier: Settings, later: Settings) -> Settings:
    """Two entries for the same thing as one: key for key, the later wins where both speak."""
    dtypes = {entry.param.text: entry for entry in (*earlier.tensor_dtype, *later.tensor_dtype)}
    return Settings(
        dtype=later.dtype or earlier.dtype,
        tensor_dtype=tuple(dtypes.values()),
        layout=_merge_layouts(earlier.layout, later.layout),
        contiguous=_merge_contiguous(earlier.contiguous, later.contiguous),
        composite=later.composite or earlier.composite,
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
    """What is said for all tensors: parameters have no meaning outside an operator."""
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
        """What is said for a function, the innermost level first."""
        own = self.operators.get(function.name)
        return (own, *self.outer(function)) if own else self.outer(function)

    def outer(self, function: Function) -> tuple[Settings, ...]:
        """The levels around an operator's own."""
        family = self.families.get(function.family)
        return (family, self.common) if family else (self.common,)


def levels(subject: Subject) -> Levels:
    """The entries of each level, merged where there is more than one for the same thing."""
    common = Settings()
    by_level: dict[str, dict[str, Settings]] = {"family": {}, "operator": {}}
    for entry in subject.config.entries:
        if entry.level == "common":
            common = merge(common, _without_params(entry.settings))
        else:
            named = by_level[entry.level]
            own = entry.settings if entry.level == "operator" else _without_params(entry.settings)
            named[entry.name.text] = merge(named.get(entry.name.text, Settings()), own)
    return Levels(common, by_level["family"], by_level["operator"])


def function_rule(function: Function, said: Sequence[Settings], known_dtypes: Iterable[str]) -> FunctionRule:
    """What holds for a function by what its levels say, the innermost first."""
    names = convertible(function)
    if cannot_convert(function):
        return FunctionRule(function.name, tuple(TensorRule(name) for name in names))
    known = frozenset(known_dtypes)
    flag = _first_flag(said)
    return FunctionRule(
        function.name,
        tuple(_tensor_rule(name, said, known) for name in names),
        composite=bool(flag and flag.value),
        composite_span=flag.span if flag else None,
    )


def _first_flag(said: Sequence[Settings]) -> FlagSetting | None:
    return next((settings.composite for settings in said if settings.composite), None)


def _tensor_rule(name: str, said: Sequence[Settings], known_dtypes: frozenset[str]) -> TensorRule:
    chosen = _layouts(name, said)
    contiguous, contiguous_span = _contiguous(name, said)
    casts = _casts(name, said)
    return TensorRule(
        name,
        casts=_effective(casts, known_dtypes) if casts else (),
        layouts=chosen.layouts,
        layouts_span=chosen.span,
        common_layouts=chosen.fallback,
        contiguous=contiguous,
        contiguous_span=contiguous_span,
    )


def _casts(name: str, said: Sequence[Settings]) -> DtypeSetting | None:
    for settings in said:
        own = [entry.setting for entry in settings.tensor_dtype if entry.param.text == name]
        if own:
            return own[-1]
        if settings.dtype is not None:
            return settings.dtype
    return None


def _effective(setting: DtypeSetting, known: frozenset[str]) -> tuple[Cast, ...]:
    """The casts that do something, each source once."""
    found: dict[str, Cast] = {}
    for cast in setting.casts:
        source, target = cast.source.text, cast.target.text
        if source != target and source in known and target in known:
            found.setdefault(source, Cast(source, target, cast.source.span))
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _Layouts:
    layouts: tuple[str, ...] = ()
    span: Span | None = None
    fallback: tuple[str, ...] = ()


def _layouts(name: str, said: Sequence[Settings]) -> _Layouts:
    """The list that holds for a tensor, and what outer levels say for the ranks that it leaves open.

    A list with ND demands nothing, so that it is empty here, and so is what outer levels would say.
    """
    lists: list[tuple[tuple[str, ...], Span]] = []
    for settings in said:
        if settings.layout is None:
            continue
        own = [entry for entry in settings.layout.by_param if entry.param.text == name]
        if own and own[-1].layouts:
            lists.append((_known(own[-1].layouts), own[-1].param.span))
        if settings.layout.layouts:
            lists.append((_known(settings.layout.layouts), settings.layout.span))
    if not lists:
        return _Layouts()
    (layouts, span), *outer = lists
    if ANY in layouts:
        return _Layouts((), span, ())
    return _Layouts(layouts, span, _fallback([written for written, _ in outer] or [layouts]))


def _known(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.text for word in words if word.text in LAYOUTS))


def _fallback(outer: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The lists of outer levels as one: each adds only ranks that those before it leave open, and none adds to ND."""
    found: list[str] = []
    for layouts in outer:
        if ANY in layouts:
            break
        covered = {RANKS[layout] for layout in found}
        found += [layout for layout in layouts if RANKS[layout] not in covered]
    return tuple(found)


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
