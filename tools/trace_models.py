"""Writes `specs/models/*.yaml`: the calls of well-known models, traced and mapped to the functions of the spec.

Run it from the root with a Python that has torch and diopigen: `python tools/trace_models.py [MODEL...]`.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from tracing.recorder import Recorder
from tracing.runs import RUNS, Run

from diopigen import api
from diopigen.conformance.cases.aten_calls import Mapper, MappingError, Row
from diopigen.conformance.cases.model_text import row_text, table_text
from diopigen.conformance.cases.models import check_models
from diopigen.diagnostics import Sink
from diopigen.emit.torch.custom import operator_name
from diopigen.ir.models import load_models

ROOT = Path(__file__).resolve().parent.parent


def traced(run: Run, mapper: Mapper) -> str:
    """The table of a model."""
    functions = {operator_name(function): function.short_name for function in mapper.interface.functions}
    recorder = Recorder(mapper.known, functions)
    torch.set_default_device("meta")
    run.trace(recorder)
    torch.set_default_device(None)
    rows: Counter[str] = Counter()
    retained: dict[str, Row] = {}
    unmapped: dict[tuple[str, str, str], int] = {}
    for call in recorder.calls:
        try:
            row = mapper.row(call)
        except MappingError as reason:
            key = (call.phase, call.overload, str(reason))
            unmapped[key] = unmapped.get(key, 0) + 1
            continue
        key_text = row_text(row, 0)
        rows[key_text] += 1
        retained.setdefault(key_text, row)
    counted = [(row, rows[key]) for key, row in retained.items()]
    version = torch.__version__.partition("+")[0]
    source = "tools/trace_models.py"
    return table_text(run.name, run.doc, version, source, counted, unmapped, recorder.views, recorder.allocations)


def main() -> None:
    interface = api.load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink()).interface
    mapper = Mapper(interface)
    selected = sys.argv[1:]
    folder = ROOT / "specs" / "models"
    folder.mkdir(exist_ok=True)
    for run in RUNS:
        if not selected or run.name in selected:
            text: Any = traced(run, mapper)
            (folder / f"{run.name}.yaml").write_text(text, encoding="utf-8")
            print(run.name, text.count("\n"), "lines")
    sink = Sink()
    check_models(interface, load_models(ROOT / "specs", sink, "specs"), sink)
    for found in sink.sorted():
        print(found.span, found.message)
    sys.exit(1 if sink.has_errors else 0)


if __name__ == "__main__":
    main()
