"""The libraries of shims that the tests in this folder load: each by name, with its configuration and what it links.

`write_sources.py` writes their sources when the root build is configured, and the build makes of each
build/tests/<preset>/adaptor/libshims_<name>.so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from adaptor_helpers import DRAWN, SPAN, cast, config, uniform
from mock_vendor import BUILT_IN, mocked
from shim_cases import NARROW, USED

from diopigen.config.grammar import convertible
from diopigen.config.model import LAYOUTS, Cast, FunctionRule, ResolvedConfig, TensorRule
from diopigen.ir.model import Interface

COMPLEX = ("complex32", "complex64", "complex128")
REAL = tuple(name for name in DRAWN if name not in COMPLEX and name != "bool")


@dataclass(frozen=True)
class ShimBuild:
    """A configuration, the header through which the shims reach the host, and sources that are linked with them."""

    resolved: Callable[[Interface], ResolvedConfig]
    names: str = "renamed.h"
    kernels: str = ""
    """`arithmetic`: linked with mock/arithmetic.cpp."""
    texts: Mapping[str, str] = field(default_factory=dict)


def random_rules(interface: Interface, seed: int) -> dict[str, FunctionRule]:
    """Any casts that keep small numbers, any lists of layouts, for every parameter of every function."""
    pick = random.Random(seed)
    rules = {}
    for function in mocked(interface):
        common = tuple(pick.sample(LAYOUTS[:-1], pick.choice((0, 0, 1, 2))))
        shared = _random_casts(pick) if pick.random() < 0.7 else ()
        rules[function.name] = FunctionRule(
            function.name,
            tuple(
                TensorRule(
                    name,
                    casts=shared if pick.random() < 0.7 else _random_casts(pick),
                    layouts=tuple(pick.sample(LAYOUTS, pick.choice((0, 0, 1, 1, 2, 3)))),
                    common_layouts=common,
                    contiguous=pick.random() < 0.1,
                )
                for name in convertible(function)
            ),
        )
    return rules


def _random_casts(pick: random.Random) -> tuple[Cast, ...]:
    # What a cast leads to is not cast again: a configuration with such a chain is refused.
    rejected = [name for name in DRAWN if pick.random() < 0.35]
    casts = []
    for source in rejected:
        targets = [name for name in (COMPLEX if source in COMPLEX else REAL) if name not in rejected]
        if targets:
            casts.append(Cast(source, pick.choice(targets), SPAN))
    return tuple(casts)


def _sampled(seed: int) -> Callable[[Interface], ResolvedConfig]:
    def resolved(interface: Interface) -> ResolvedConfig:
        implemented = {function.name for function in mocked(interface)} | BUILT_IN
        return config(random_rules(interface, seed).values(), implemented)

    return resolved


def _promises(interface: Interface) -> ResolvedConfig:
    """Casts everywhere; layouts for softmax (row-major) and convolution (channels-last, by preference)."""
    rules = {rule.function: rule for rule in uniform(interface, casts=NARROW)}
    for name, layouts in (("diopiSoftmax", ("NCHW",)), ("diopiConvolution2d", ("NHWC", "NCHW"))):
        tensors = tuple(
            replace(tensor, layouts=layouts, layouts_span=SPAN, common_layouts=layouts)
            for tensor in rules[name].tensors
        )
        rules[name] = FunctionRule(name, tensors)
    return config(rules.values(), USED | BUILT_IN)


def _row_major(
    implemented: frozenset[str], vendor: str, layouts: tuple[str, ...] = ("NCHW",)
) -> Callable[[Interface], ResolvedConfig]:
    return lambda interface: config(
        uniform(interface, casts=NARROW, layouts=layouts, common_layouts=("NCHW",)), implemented, vendor
    )


def _adam(interface: Interface) -> ResolvedConfig:
    """A vendor whose kernel refuses everything but dense float32."""
    rules = uniform(interface, casts=(cast("float64", "float32"),), layouts=("NCHW",), common_layouts=("NCHW",))
    return config(rules, {"diopiAdam", "diopiCastDtype", "diopiCopyInp"}, "mini")


def _limits(interface: Interface) -> ResolvedConfig:
    """A chip with two dimensions at most, and buffers at multiples of 16 bytes, as malloc gives them."""
    return config(uniform(interface, max_rank=2, alignment=16), USED | BUILT_IN)


LONE = """\
#include <diopi/functions.h>
namespace impl {
namespace lone {
diopiError_t diopiMax(diopiContextHandle_t, diopiTensorHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                      int64_t) {
    return diopiSuccess;
}
}
}
"""
"""A vendor of one operator, and not one helper."""
READER = """\
#include <diopi/functions.h>
namespace impl {
namespace mock {
diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);
diopiError_t diopiContiguous(diopiContextHandle_t, diopiTensorHandle_t*, diopiConstTensorHandle_t, diopiMemoryFormat_t);
diopiError_t diopiMax(diopiContextHandle_t, diopiTensorHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                      int64_t);
}
namespace reader {
diopiError_t diopiCastDtype(diopiContextHandle_t c, diopiTensorHandle_t o, diopiConstTensorHandle_t i) {
    return mock::diopiCastDtype(c, o, i);
}
diopiError_t diopiContiguous(diopiContextHandle_t c, diopiTensorHandle_t* o, diopiConstTensorHandle_t i,
                             diopiMemoryFormat_t f) {
    return mock::diopiContiguous(c, o, i, f);
}
diopiError_t diopiMax(diopiContextHandle_t c, diopiTensorHandle_t m, diopiTensorHandle_t n, diopiConstTensorHandle_t i,
                      int64_t d) {
    return mock::diopiMax(c, m, n, i, d);
}
}
}
"""
"""Only what reads: the casts and the dense copies of the mock vendor, under another name."""

BUILDS: Mapping[str, ShimBuild] = {
    "drawn_1": ShimBuild(_sampled(1)),
    "drawn_2": ShimBuild(_sampled(2)),
    "drawn_2_asked": ShimBuild(_sampled(2), names="asked.h"),
    "absent": ShimBuild(lambda i: config([], {function.name for function in mocked(i)}, vendor="absent")),
    "promises": ShimBuild(_promises),
    "limits": ShimBuild(_limits),
    "limits_asked": ShimBuild(_limits, names="asked.h"),
    "adam": ShimBuild(_adam, kernels="arithmetic"),
    "lone": ShimBuild(_row_major(frozenset({"diopiMax"}), "lone"), texts={"lone.cpp": LONE}),
    "reader": ShimBuild(_row_major(frozenset({"diopiMax"}), "reader", ("NHWC",)), texts={"reader.cpp": READER}),
    "asked": ShimBuild(_row_major(USED | BUILT_IN, "mock"), names="asked.h"),
    "bare": ShimBuild(lambda i: config(uniform(i, casts=NARROW), USED | BUILT_IN), names="bare.h"),
}
