"""Cases as pytest items. Imported by `pytest_plugin` where `--diopi-lib` or `--diopi-device` is given."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from diopigen import api
from diopigen.commands.conformance_cards import division_of, of_shard, variables_of
from diopigen.conformance.aten.caller import AtenCaller
from diopigen.conformance.aten.origins import ask_origins, origins_of
from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import FAILURES, PASSING, Case, CaseResult, Results
from diopigen.conformance.report.results import ending_text, failure_text, why_not_tested
from diopigen.conformance.run.cards import WorkerPlan
from diopigen.conformance.run.exceptions import read, with_waivers
from diopigen.conformance.run.execution import DEFAULT, Execution
from diopigen.conformance.run.host_runtime import host_runtime
from diopigen.conformance.run.locate import library_and_runtime
from diopigen.conformance.run.runner import MEMORY_LIMIT, CaseRunner
from diopigen.conformance.vendor_side import VendorSide
from diopigen.diagnostics import Diagnostic, Failure, Sink
from diopigen.findings.render import render
from diopigen.ir.model import Interface
from diopigen.vendor.side import read_vendor_side


class CaseFailed(Exception):
    """A case that counts against the library; the text says all about it."""


class CaseCollector(pytest.Collector):
    """The parent of all cases: it holds the process in which the library runs."""

    runner: CaseRunner
    run: Results
    """The run as reports describe it, without results."""
    caller: AtenCaller | None = None
    """The caller of a device of PyTorch."""

    def with_known(self, result: CaseResult) -> CaseResult:
        """The result, excepted if it is a known failure of PyTorch's kernels."""
        if self.caller is None:
            return result
        results = replace(self.run, results=(result,), library_version=self.runner.version)
        return self.caller.excepting.with_known(results)[0].results[0]

    def collect(self) -> Iterator[pytest.Item]:
        """Nothing: the items are made where the options are read."""
        return iter(())

    def teardown(self) -> None:
        """Ends the process after the last case; what goes wrong in the library then is an error of that case."""
        endings = self.runner.end()
        self.runner.close()
        if endings:
            raise CaseFailed("after the last case: " + "\n".join(ending_text(ending) for ending in endings))


class CaseItem(pytest.Item):
    """One case."""

    case: Case

    def runtest(self) -> None:
        """Tests the case; what cannot be tested is skipped with its reason."""
        parent = self.parent
        assert isinstance(parent, CaseCollector)
        try:
            result = parent.runner.check(self.case)
        except Failure as fault:
            self.session.shouldstop = "the library under test does not run"
            raise CaseFailed(_shown(fault.diagnostics)) from None
        result = parent.with_known(result)
        if result.outcome in FAILURES:
            raise CaseFailed(_text(result, parent))
        if result.outcome not in PASSING:
            # The place in a report is the case, not this line.
            raise pytest.skip.Exception(why_not_tested(result), _use_item_location=True)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text alone: where in Python it was raised is of no interest."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name of the test in headlines."""
        return Path("diopi"), 0, self.case.id


def _text(result: CaseResult, parent: CaseCollector) -> str:
    """Failure, without the first line: pytest names the case itself."""
    text = failure_text(result, parent.run)
    return textwrap.dedent(text.partition("\n")[2])


def _shown(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> str:
    return render(list(diagnostics), "text").rstrip("\n")


def collect(session: pytest.Session) -> list[pytest.Item]:
    """The items of all chosen cases. Bad options end pytest as wrong usage."""
    option = session.config.getoption
    try:
        interface, cases, vendor = _cases(session.config)
        variables = variables_of("--diopi-worker-env", option("--diopi-worker-env"))
        variables = of_shard(variables, option("--diopi-shard") or "")
        # The workers of pytest-xdist are gw0, gw1 and so on; without it there is one.
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw") or 0)
        library, runtime, caller = _tested(session.config, interface)
        execution = DEFAULT if caller is None else Execution(is_confined=False)
    except Failure as fault:
        raise pytest.UsageError(_shown(fault.diagnostics)) from None
    except click.UsageError as error:
        raise pytest.UsageError(error.message) from None
    parent = CaseCollector.from_parent(session, name="diopi", nodeid="diopi")
    seed, limit = option("--diopi-seed"), option("--diopi-time-limit")
    options = vendor.options if caller is None else caller.words
    parent.run = Results(
        (), 0.0, seed, str(library), runtime=option("--diopi-runtime") or "", options=options,
        declarations={one.where: str(one) for one in vendor.accuracy},
        binding="" if caller is None else "aten",
    )  # fmt: skip
    parent.caller = caller
    parent.runner = CaseRunner(
        cases, interface, library, runtime, seed=seed, time_limit=limit, accuracy=vendor.accuracy,
        environment=WorkerPlan(variables).environment(worker), repeat=max(1, option("--diopi-repeat")),
        caller=caller, execution=execution, memory_limit=MEMORY_LIMIT if caller is None else 0,
    )  # fmt: skip
    items: list[pytest.Item] = []
    for case in cases:
        item = CaseItem.from_parent(parent, name=case.id)
        item.case = case
        item.add_marker(pytest.mark.diopi(case.function, case.dtype, case.axis))
        items.append(item)
    return items


def _tested(config: pytest.Config, interface: Interface) -> tuple[Path, Path, AtenCaller | None]:
    """The library and its runtime, or the device and what calls it."""
    option = config.getoption
    if device := option("--diopi-device"):
        caller = AtenCaller(device, tuple(option("--diopi-register")), option("--diopi-compile"))
        origins_of(ask_origins(caller, interface), caller, ())  # before any test, whether there is such a device
        return Path(device), Path(), caller
    templates = api.workspace(option("--diopi-spec")).templates
    library = option("--diopi-lib"), option("--diopi-runtime")
    return (*library_and_runtime(*library, lambda: host_runtime(interface, templates)), None)


def _cases(config: pytest.Config) -> tuple[Interface, list[Case], VendorSide]:
    option = config.getoption
    sink = Sink()
    where = api.workspace(option("--diopi-spec"))
    interface = api.load(where, sink).interface
    tables = tuple(api.models(where, sink).values())
    if option("--diopi-device") and option("--diopi-lib"):
        raise click.UsageError("--diopi-device has no library: leave out --diopi-lib")
    division = division_of(option("--diopi-shard"), option("--diopi-costs"), option("--diopi-only-failures"))
    cases = select(
        interface,
        ops=option("--diopi-ops"),
        families=option("--diopi-family"),
        dtypes=option("--diopi-dtype"),
        axes=option("--diopi-axis"),
        tables=tables,
        models=option("--diopi-model"),
    )
    if option("--diopi-device"):
        from diopigen.conformance.aten.custom import with_composed
        from diopigen.conformance.aten.forms import through_overloads

        interface = with_composed(interface)
        cases = list(through_overloads(interface, cases))
    cases = division.parts(cases).cases
    file = option("--diopi-exceptions")
    if file and not sink.has_errors:
        cases = with_waivers(cases, read(Path(file), file, sink), interface, sink)
    vendor = VendorSide()
    if not sink.has_errors:
        vendor = read_vendor_side(interface, where, option("--diopi-impl"), option("--diopi-chip"), sink)
        cases = vendor.converted(cases, interface)
    if sink.has_errors:
        raise Failure(*sink.sorted())
    return interface, cases, vendor
