"""Records the errors of the reference library and of PyTorch, which every report compares with (docs/conformance.md).

    diopigen conformance run --lib build/libdiopi_impl.so --output json=results.json      # all cases
    diopigen conformance aten --output json=aten.json                                     # the same over PyTorch's CPU
    tools/record_accuracy.py results.json aten.json

Writes diopigen/conformance/report/recorded.json: by function and dtype the largest and the mean error in ULP.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diopigen.conformance.model import CaseResult
from diopigen.conformance.report.accuracy import RECORDED, rows_of
from diopigen.conformance.run.reading import read_results

Errors = dict[str, dict[str, list[float]]]


def errors_of(results: list[CaseResult]) -> Errors:
    """The largest and the mean error by function and dtype, with three digits."""
    found: Errors = {}
    for row in rows_of(results):
        found.setdefault(row.function, {})[row.dtype] = [float(f"{row.worst:.3g}"), float(f"{row.mean:.3g}")]
    return dict(sorted(found.items()))


def text_of(entries: list[Mapping[str, Any]]) -> str:
    """The file: a line for each function, so that differences can be read."""
    parts = []
    for entry in entries:
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(errors)}" for name, errors in entry["errors"].items())
        head = ", ".join(f"{json.dumps(key)}: {json.dumps(entry[key])}" for key in ("name", "version"))
        parts.append(f'{{{head}, "errors": {{\n{lines}\n}}}}')
    return "[" + ",\n".join(parts) + "]\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="JSON of a run of all cases over the reference library")
    parser.add_argument("aten", type=Path, nargs="?", help="JSON of `conformance aten` (default: keep what is there)")
    options = parser.parse_args()
    reference = read_results(options.results)
    version = reference.library_version.partition(" ")[0]
    entries: list[Mapping[str, Any]] = [
        {"name": "reference", "version": version, "errors": errors_of(list(reference.results))}
    ]
    if options.aten is None:
        known = json.loads(RECORDED.read_text(encoding="utf-8"))
        entries += [entry for entry in known if entry["name"] == "PyTorch"]
    else:
        torch = read_results(options.aten)
        version = torch.library_version.partition(",")[0]
        entries.append({"name": "PyTorch", "version": version, "errors": errors_of(list(torch.results))})
    RECORDED.write_text(text_of(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
