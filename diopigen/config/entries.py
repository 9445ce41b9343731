"""A convert_config.yaml as it was written: entries in order, every word with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

from diopigen.diagnostics import Span

COMMON = "common_config"
FAMILY = "family"


@dataclass(frozen=True, slots=True)
class Word:
    """A name in the file."""

    text: str
    span: Span

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class WrittenCast:
    """One dtype of the list before an arrow, and the dtype behind the arrow."""

    source: Word
    target: Word


@dataclass(frozen=True, slots=True)
class DtypeSetting:
    """`dtype: (int64)->int32`; without casts where it says `none`. `span` is the key's place."""

    casts: tuple[WrittenCast, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ParameterDtype:
    """An entry of `tensor_dtype`."""

    param: Word
    setting: DtypeSetting


@dataclass(frozen=True, slots=True)
class ParameterLayout:
    """`input(NHWC)` in a `layout`."""

    param: Word
    layouts: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class LayoutSetting:
    """`layout: NCHW, NHWC, input(NHWC)`: for all tensors, and for some."""

    layouts: tuple[Word, ...]
    by_param: tuple[ParameterLayout, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ContiguousSetting:
    """`contiguous: true`, or the parameters that it is true for (`value` is None then)."""

    value: bool | None
    params: tuple[Word, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one entry; None for keys that it does not set."""

    dtype: DtypeSetting | None = None
    tensor_dtype: tuple[ParameterDtype, ...] = ()
    layout: LayoutSetting | None = None
    contiguous: ContiguousSetting | None = None

    @property
    def is_empty(self) -> bool:
        """Returns whether nothing is said at all."""
        return not (self.dtype or self.tensor_dtype or self.layout or self.contiguous)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `level` is "common", "family" or "operator"; `name` is where the file names it."""

    level: str
    name: Word
    settings: Settings = field(default_factory=Settings)
    keys: tuple[Word, ...] = ()
    """The keys that it speaks of, in order."""
    sound: bool = True
    """True if all of it could be read."""

    @property
    def label(self) -> str:
        """Name in messages."""
        return {"common": COMMON, "family": f"family '{self.name}'"}.get(self.level, f"'{self.name}'")

    @property
    def dtype_settings(self) -> tuple[DtypeSetting, ...]:
        """Every dtype setting in it: for all tensors, then for single ones."""
        own = (self.settings.dtype,) if self.settings.dtype else ()
        return (*own, *(entry.setting for entry in self.settings.tensor_dtype))

    @property
    def layout_lists(self) -> tuple[tuple[Word, ...], ...]:
        """Every list of layouts in it: for all tensors, then for single ones."""
        layout = self.settings.layout
        if layout is None:
            return ()
        return (layout.layouts, *(entry.layouts for entry in layout.by_param))

    @property
    def named_params(self) -> tuple[Word, ...]:
        """Every parameter that it names, in order of key."""
        settings = self.settings
        found = [entry.param for entry in settings.tensor_dtype]
        found += [entry.param for entry in settings.layout.by_param] if settings.layout else []
        found += settings.contiguous.params if settings.contiguous else ()
        return tuple(found)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A whole file. `file` is its name as the user gave it, which findings point to."""

    file: str
    entries: tuple[Entry, ...] = ()

    def at_level(self, level: str) -> tuple[Entry, ...]:
        """The entries of a level, in order."""
        return tuple(entry for entry in self.entries if entry.level == level)
