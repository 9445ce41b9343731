"""Types of the suite: cases, their arguments, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Union

from diopigen.ir.recipe import Drawn, Literal

ANY_FAILURE = "any failure"
"""Expectation of a case that must be refused, with whichever status."""
ANY_STATUS = "any status"
"""Expectation of a random call: it returns, with whichever status, and leaves memory outside of its outputs alone."""
SUCCESS = "diopiSuccess"

NORMAL = Drawn("normal")

FAR = "far"
"""A layout of random calls alone: contiguous, with the largest stride that a dimension without steps can have."""
LAYOUTS = ("contiguous", "strided", "transposed", "expanded", "channels-last", "offset", "distant", "odd")
"""`distant`: neighbours of the last dimension are some 300 elements apart. `odd`: dimensions of size 1 have strides
that are not those of a contiguous tensor, which moves no element. `by 8,1`: strides of its own."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument: sizes, dtype, how its values come about, how it is laid out in memory.

    `alias` names another parameter whose memory it shares; with `shift` above 0 it starts so many of its own elements
    behind that one's first, which no operator has to take. `on_host` puts it on another device than the others.
    """

    shape: tuple[int, ...]
    dtype: str
    values: Drawn | Literal = NORMAL
    layout: str = "contiguous"
    alias: str | None = None
    shift: int = 0
    on_host: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar argument with the dtype that it is passed with: float64, int64 or bool."""

    value: int | float
    dtype: str


Value = Union[Operand, Number, tuple["Value", ...], tuple[int, ...], int, float, bool, str, None]


def operands_of(values: Iterable[Value]) -> Iterator[Operand]:
    """All tensors among some arguments, those in lists included."""
    for value in values:
        if isinstance(value, Operand):
            yield value
        elif isinstance(value, tuple):
            yield from operands_of(value)


@dataclass(frozen=True, slots=True)
class Waiver:
    """An entry for a case in a vendor's file of known exceptions.

    `kind` is `skip`, `tolerance` or `unsupported`; `where` the entry as file:line; `factor` widens the bound.
    """

    kind: str
    reason: str
    where: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversions of the tensors of a call by a vendor's shims, by its resolved configuration.

    `casts` has the target dtype by parameter and source dtype. `accepts`: the call has to be rejected as it is, and is
    legal once it is converted, so that it may succeed. `hides`: its tensors overlap, and a copy hides that from the
    kernel.
    """

    casts: Mapping[str, Mapping[str, str]]
    accepts: bool = False
    hides: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One call and what must come of it. `expect` is a status of the interface, or `ANY_FAILURE`."""

    id: str
    function: str
    family: str
    dtype: str
    axis: str
    arguments: Mapping[str, Value]
    expect: str = SUCCESS
    about: str = ""
    """Purpose of the case, if the id does not tell it: the constraint that it violates."""
    blames: str = ""
    """The parameter that is invalid in a case that must be rejected; empty where several are at fault together."""
    waiver: Waiver | None = None
    breaks: str = ""
    """The id of the constraint that the case violates, alone of all."""
    conversion: Conversion | None = None
    overload: str = ""
    """The overload of ATen that is called; empty for the C function."""

    @property
    def called(self) -> str:
        """The name of what is called, as an executor knows it."""
        return f"{self.function} {self.overload}" if self.overload else self.function


OUTCOMES: dict[str, str] = {
    "passed": "the result is right",
    "declared": "right by the accuracy that the chip's file declares, and not by the ordinary bound",
    "converted": "right for the dtypes that the vendor's configuration converts the call to",
    "excepted": "a known exception of the vendor: skipped, within a looser bound, or of an unsupported dtype",
    "failed": "the result, the status or the memory around it is wrong",
    "crashed": "the process ended during the call",
    "hung": "the call did not return within the time limit",
    "nondeterministic": "the same call gave other bytes, or another outcome, when it was repeated",
    "unimplemented": "the library returns diopiNoImplement or asks for the CPU",
    "missing": "the library exports no such function",
    "uncovered": "the call succeeded, but no oracle knows the right values",
    "inapplicable": "there is no such call: nothing is on the wrong device where the host is the only one, packed "
    "functions have no pointers to results, and an overload of ATen has no place for an argument",
}
PASSING = frozenset({"passed", "declared", "converted"})
FAILURES = frozenset({"failed", "crashed", "hung", "nondeterministic"})
ABSENT = frozenset({"unimplemented", "missing"})
"""Failures too where a run requires all functions."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a result; `kind` is a word for tables, `parameter` empty for the call itself."""

    kind: str
    parameter: str
    message: str
    expected: str = ""
    actual: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """The errors of `elements` elements of a dtype in units in the last place: the largest, and their mean. `converted`
    is the dtype that the call was converted to, which the errors are then measured in."""

    dtype: str
    worst: float
    mean: float
    elements: int
    converted: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Result of one case. `operands` describes the arguments of a case that failed; `reason` is what the library said
    of a call that it refused. `declared` are the entries of the chip's file that its results were held to, as
    file:line; `errors` are those of its results in ULP, by dtype."""

    case: Case
    outcome: str
    seconds: float
    faults: tuple[Fault, ...] = ()
    operands: tuple[str, ...] = ()
    reason: str = ""
    declared: tuple[str, ...] = ()
    errors: tuple[Measured, ...] = ()
    digest: str = ""
    """A digest of the bytes of its outputs; empty where none was asked for, or where the call has no outputs."""
    worker: int = 0
    """The worker that ran it, from 0."""
    smallest: tuple[str, ...] = ()
    """The fault and the operands of the smallest call that fails alike, where one was looked for."""


@dataclass(frozen=True, slots=True)
class Ending:
    """An error while a process finalized the library after its last case, such as a leak, which belongs to no case.
    `printed` is what the library wrote to its standard output and error meanwhile."""

    message: str
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Sentinel:
    """Result of a sentinel case on one card; `phase` is `before` or `after` the worker's other cases."""

    worker: int
    phase: str
    case: str
    outcome: str
    digest: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A card whose sentinel cases differ from those of the other cards, or change in the run."""

    card: str
    """The worker, and the variables that bind it to a card."""
    message: str
    cases: tuple[str, ...]
    """The sentinel cases that differ."""
    discarded: int = 0
    """Results of the card that do not count: they came from other cards, or are missing."""


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a run, in the order of the cases, and the command that repeats it."""

    results: tuple[CaseResult, ...]
    seconds: float
    seed: int
    library: str
    vendor: str = ""
    library_version: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    runtime: str = ""
    """The host runtime, for commands that repeat a case; empty where it is found in the library's folder."""
    options: tuple[str, ...] = ()
    """Further words of commands that repeat a case: what the run took into account of the vendor's side."""
    shard: str = ""
    """The part of all cases that was run, as I/N; empty for all of them."""
    endings: tuple[Ending, ...] = ()
    """Errors while processes finalized the library, one entry for each such process."""
    declarations: Mapping[str, str] = field(default_factory=dict)
    """Declared accuracy of the chip's file, as text, by file:line."""
    not_run: int = 0
    """Cases without a result, since the run was interrupted."""
    identity: Mapping[str, str] = field(default_factory=dict)
    """Digests of what results follow from: `library`, `spec` (with the suite itself) and `settings`."""
    plan: str = ""
    """A digest of which case is in which shard; empty where that is not recorded."""
    expected: tuple[str, ...] = ()
    """The ids of the cases that the run is about, where they are recorded: those without a result are holes."""
    sentinels: tuple[Sentinel, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    workers: Mapping[int, str] = field(default_factory=dict)
    """Binding of each worker to its card, as text."""
    in_force: tuple[str, ...] | None = None
    """Names of what confined the library: namespaces, Landlock, seccomp; empty for nothing, None where that is not
    recorded."""
    serving: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other libraries that the one under test has opened, and the functions of the interface that each defines: results
    may be theirs."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Versions, machine, commit, time and the digest of the host runtime; see run/provenance.py."""
    requires_all: bool = False
    """True if a function that is missing or not implemented counts against the library."""
    binding: str = ""
    """`aten` where overloads of ATen were called; empty for the C interface."""
    coverage: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The overloads by the origin of their kernels, where these were called; see `aten/coverage.py`."""

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The results that count against the library."""
        counting = FAILURES | ABSENT if self.requires_all else FAILURES
        return tuple(result for result in self.results if result.outcome in counting)

    @property
    def good(self) -> bool:
        """Returns whether nothing counts against the library or the cards: every case ran, none failed, each process
        ended properly, no card is suspect, and no other library may have served the calls."""
        return not (self.failures or self.endings or self.not_run or self.suspects or self.serving)

    @property
    def holes(self) -> tuple[str, ...]:
        """The ids of the cases that are expected and have no result, in order."""
        found = {result.case.id for result in self.results}
        return tuple(name for name in self.expected if name not in found)
