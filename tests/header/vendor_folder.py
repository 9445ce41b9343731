"""A vendor's folder below the current one, next to headers of four functions; scanned and checked."""

from __future__ import annotations

from pathlib import Path

from header_helpers import shown

from diopigen.diagnostics import Sink
from diopigen.header.clang import parse_headers
from diopigen.header.vendor_sources import VendorSources, check_impl, scan_vendor

RUNTIME = """\
#ifndef RT_H
#define RT_H
#define DIOPI_API __attribute__((weak))
typedef struct diopiSize_t_ { const int64_t* data; int64_t len; } diopiSize_t;
typedef struct diopiTensor* diopiTensorHandle_t;
typedef const struct diopiTensor* diopiConstTensorHandle_t;
typedef struct diopiContext* diopiContextHandle_t;
typedef enum { diopiSuccess, diopiErrorOccurred } diopiError_t;
#endif
"""
FUNCTIONS = """\
#ifndef FUNCTIONS_H
#define FUNCTIONS_H
#include "diopirt.h"
#ifdef __cplusplus
extern "C" {
#endif
DIOPI_API diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input);
DIOPI_API diopiError_t diopiCos(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input);
DIOPI_API diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiSize_t dim, const bool keep);
DIOPI_API diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, int64_t value);
#ifdef __cplusplus
}
#endif
#endif
"""
BODY = "(diopiContextHandle_t c, diopiTensorHandle_t o, diopiConstTensorHandle_t i) { return diopiSuccess; }\n"


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


PRELUDE = [Path("include/diopi/functions.h")]


def scan(sink: Sink, namespaces: list[str] | None = None) -> VendorSources:
    return scan_vendor(Path("impl/camb"), PRELUDE, sink, namespaces=namespaces)


def check(namespaces: list[str] | None = None) -> tuple[tuple[str, ...], list[str]]:
    """Scans and checks; the implemented functions and all findings."""
    sink = Sink()
    expected = parse_headers(PRELUDE, sink=sink)
    assert expected is not None
    return check_impl(expected, scan(sink, namespaces), sink), shown(sink)
