"""One result as `report.result_record` wrote it, read again."""

from __future__ import annotations

from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Conversion, Fault, Measured, Waiver
from diopigen.spec.json_form import Form


def result_of(record: Form) -> CaseResult:
    """A result that `report.result_record` wrote. Raises `FormFault` for anything else."""
    waiver = None
    if "exception" in record:
        waived = record["exception"]
        kind, reason, where = (waived[name].text() for name in ("kind", "reason", "where"))
        waiver = Waiver(kind, reason, where, waived["factor"].number())
    case_id, function, family, dtype, axis = (
        record[name].text() for name in ("id", "function", "family", "dtype", "axis")
    )
    conversion = None
    if "conversion" in record:
        casts = {
            name: {source: target.text() for source, target in one.entries()}
            for name, one in record["conversion"].entries()
        }
        conversion = Conversion(casts)
    overload = record.get("overload", "").text()
    case = Case(case_id, function, family, dtype, axis, {}, waiver=waiver, conversion=conversion, overload=overload)
    outcome = record["outcome"]
    if outcome.text() not in OUTCOMES:
        raise outcome.fault("an outcome")
    faults = tuple(
        Fault(*(fault[name].text() for name in ("kind", "parameter", "message", "expected", "actual")))
        for fault in record.get("faults", []).items()
    )
    operands = tuple(operand.text() for operand in record.get("operands", []).items())
    reason = record.get("reason", "").text()
    declared = tuple(where.text() for where in record.get("declared", []).items())
    errors = tuple(_measured(one) for one in record.get("ulp", []).items())
    return CaseResult(case, outcome.text(), record["seconds"].number(), faults, operands, reason, declared, errors)


def _measured(record: Form) -> Measured:
    worst, mean = record["worst"].number(), record["mean"].number()
    return Measured(record["dtype"].text(), worst, mean, record["elements"].whole(1), record["converted"].text())
