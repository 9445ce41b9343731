"""The functions of diopigen: values in, values out, no printing. The command line and tests build on it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from diopigen.check.rule import check_interface
from diopigen.collection import no_collection
from diopigen.diagnostics import Failure, Sink, Span, failure, nearest
from diopigen.emit.plan import Plan, merge_plans
from diopigen.header.cdecl import CInterface
from diopigen.header.json_reader import read_interface_json
from diopigen.header.renames import renames
from diopigen.header.signature import c_interface
from diopigen.ir.load import Loaded, load_interface
from diopigen.ir.model import Interface
from diopigen.ir.models import Model, load_models
from diopigen.output.cache import Parts
from diopigen.package import package_data

RULES = {"unknown-target": "A target that is named is one of those that diopigen generates."}

Emitter = Callable[[Interface, Path], Plan]


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths of the inputs: the folder of the spec (as the user names it in `spec_name`) and the templates."""

    spec: Path
    templates: Path
    spec_name: str

    @property
    def root(self) -> Path:
        """The folder above the spec: of a checkout, or of a project with a spec of its own."""
        return self.spec.parent if self.spec.name not in ("", "..") else self.spec.resolve().parent

    @property
    def has_own_spec(self) -> bool:
        """Tells whether the spec is another one than that of the package."""
        return self.spec.resolve() != package_data("specs").resolve()

    def path_of(self, name: str) -> Path:
        """Path of an input of a plan: plans name inputs from the root of a checkout, others from here."""
        folder, _, rest = name.partition("/")
        roots = {"specs": self.spec, "templates": self.templates}
        return (roots[folder] / rest if folder in roots else Path(name)).absolute()


def workspace(spec: str | None = None, templates: str | None = None) -> Workspace:
    """The workspace for a spec folder; without one `specs/` of the current folder, else the one that travels along."""
    if spec is not None:
        selected, name = Path(spec), spec.rstrip("/") or "/"
    elif Path("specs/types.yaml").exists():
        selected, name = Path("specs"), "specs"
    else:
        selected, name = package_data("specs"), "specs"
    return Workspace(selected, Path(templates) if templates else package_data("templates"), name)


def load(where: Workspace, sink: Sink, *, check: bool = True, published: CInterface | None = None) -> Loaded:
    """The interface of a workspace, checked by every rule unless `check` is false. With the interface that was
    generated last the rules tell renamed functions from others."""
    with no_collection():
        parts = Parts("files", (str(where.spec.absolute()),))
        loaded = load_interface(where.spec, sink, where.spec_name, parts)
        parts.save()
        if check:
            check_interface(loaded.interface, sink, complete=loaded.complete, published=published)
    return loaded


def published(generated: Path) -> CInterface | None:
    """The interface in the `diopi.json` of a folder that `generate` wrote; None where there is none that can be read:
    then nothing is known of renamed functions."""
    path = generated / "diopi.json"
    return read_interface_json(path, Sink()) if path.is_file() else None


def check_completeness(
    interface: Interface, where: Workspace, before: CInterface | None, sink: Sink, *, each: bool = False
) -> None:
    """Reports operators without cases, oracle, kernel or glue; `each` lists also those where the reason is known."""
    from diopigen.completeness.operators import report_gaps

    renamed = renames(before, c_interface(interface)) if before else {}
    report_gaps(interface, where.root, renamed, sink, Span(where.spec_name, 0, 0), each=each)


def models(where: Workspace, sink: Sink) -> Mapping[str, Model]:
    """The model tables of a workspace by name; `Model.functions()` counts the calls of each function by phase.

    What breaks the grammar goes to `sink`; whether the calls fit the interface is checked by `check_models`.
    """
    with no_collection():
        return {model.name: model for model in load_models(where.spec, sink, where.spec_name)}


def check_models(interface: Interface, found: Iterable[Model], sink: Sink) -> None:
    """Reports every call of the tables that is none of the interface."""
    from diopigen.conformance.cases.models import check_models as check

    check(interface, tuple(found), sink)


def targets() -> Mapping[str, Emitter]:
    """The emitters by target: every module of the packages of `diopigen.emit` that has `TARGET` and `emit`. One that
    can do with functions whose directions, dtypes and shapes are open has `DRAFTS`; the others get no drafts."""
    return {
        module.TARGET: module.emit if getattr(module, "DRAFTS", False) else _without_drafts(module.emit)
        for module in _emitting_modules()
        if hasattr(module, "TARGET")
    }


def _emitting_modules() -> Iterator[ModuleType]:
    import diopigen.emit

    for info in sorted(pkgutil.walk_packages(diopigen.emit.__path__, "diopigen.emit."), key=lambda info: info.name):
        yield importlib.import_module(info.name)


def _without_drafts(emit: Emitter) -> Emitter:
    """An emitter for what is settled: all but C declarations needs directions, dtypes and shapes."""
    return lambda interface, templates: emit(interface.settled(), templates)


def reserved_names() -> Mapping[str, str]:
    """The variables of generated code, which no parameter is called like, each with the target that has it."""
    users: dict[str, str] = {}
    for module in _emitting_modules():
        for name in getattr(module, "RESERVED", ()):
            users.setdefault(name, module.__name__.split(".")[2])
    return users


def _check_reserved(interface: Interface, sink: Sink) -> None:
    users = reserved_names()
    for function in interface.functions:
        for param in () if function.is_foreign else function.params:
            if param.name in users:
                message = f"{function.name}: '{param.name}' is a variable of generated code ({users[param.name]})"
                sink.error("reserved-word", message, param.span, fix="choose another name")


def check_targets(interface: Interface, where: Workspace, sink: Sink) -> Plan | None:
    """Reports what keeps a target from being generated: an expression that has no C++, glue for an operator that is
    gone, a parameter called like a variable of generated code (`RESERVED` of a module). Each emitter knows its own
    rules, so that all of them are run. Returns the files of those that can be generated, or None where they collide."""
    _check_reserved(interface, sink)
    plans = []
    for emit in targets().values():
        try:
            plans.append(emit(interface, where.templates))
        except Failure as fault:
            sink.extend(fault.diagnostics)
    try:
        return merge_plans(plans, sink)
    except Failure as fault:
        sink.extend(fault.diagnostics)
        return None


def plan(interface: Interface, where: Workspace, sink: Sink, selected: Iterable[str] = ()) -> Plan:
    """The files of the chosen targets, all where none is chosen. Raises `Failure` for an unknown target."""
    known = targets()
    names = list(selected) or list(known)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            fix = f"did you mean '{near}'?" if near else f"targets: {', '.join(known)}"
            raise failure("unknown-target", f"there is no target '{name}'", fix=fix)
    return merge_plans((known[name](interface, where.templates) for name in names), sink)
