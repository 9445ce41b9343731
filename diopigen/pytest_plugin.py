"""The conformance suite as a pytest plugin: `pytest --diopi-lib PATH` runs one test per case, and so does
`pytest --diopi-device npu` on a device of PyTorch.

pytest loads this module in every project where diopigen is installed, so it imports nothing but pytest until one of
the options is given. The process that makes the calls is one per pytest process, so that pytest-xdist spreads cases.
"""

from __future__ import annotations

import pytest

_REPEATED = ("ops", "family", "dtype", "axis", "model")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, named as those of `diopigen conformance run`."""
    group = parser.getgroup("diopi", "conformance of a DIOPI kernel library")
    group.addoption("--diopi-lib", metavar="PATH", help="the library under test: every case becomes a test")
    group.addoption("--diopi-device", metavar="DEVICE", help="a device of PyTorch: every case of an overload is a test")
    help_text = "import this first: the package of the device (may be repeated)"
    group.addoption("--diopi-register", action="append", default=[], metavar="MODULE", help=help_text)
    group.addoption(
        "--diopi-compile", default="", metavar="BACKEND", help="call what torch.compile makes by this backend"
    )
    group.addoption("--diopi-runtime", metavar="PATH", help="libdiopirt.so (default: searched in the library's folder)")
    group.addoption("--diopi-spec", metavar="DIR", help="folder of the spec (default: ./specs, else the built-in one)")
    group.addoption("--diopi-impl", metavar="DIR", help="the vendor's folder: its shims' conversions count")
    group.addoption("--diopi-chip", metavar="FILE", help="the chip's file (default: that of --diopi-impl)")
    group.addoption("--diopi-exceptions", metavar="FILE", help="known exceptions of the vendor (YAML)")
    group.addoption("--diopi-seed", type=int, default=0, metavar="N", help="seed of the drawn values")
    group.addoption("--diopi-time-limit", type=float, default=20.0, metavar="S", help="seconds that a case may take")
    group.addoption("--diopi-shard", metavar="I/N", help="only the I-th of N parts of the cases, for N machines")
    group.addoption("--diopi-costs", metavar="FILE", help="earlier results: parts then take equally long")
    group.addoption("--diopi-only-failures", metavar="FILE", help="only the cases that failed in these earlier results")
    group.addoption("--diopi-repeat", type=int, default=1, metavar="N", help="run each case N times, and compare bytes")
    help_text = "a variable of the process with the library, NAME=VALUE; {worker} is the number of the xdist worker"
    group.addoption("--diopi-worker-env", action="append", default=[], metavar="NAME=VALUE", help=help_text)
    for name in _REPEATED:
        text = f"only this {name.rstrip('s') if name != 'ops' else 'function, or a glob'} (may be repeated)"
        group.addoption(f"--diopi-{name}", action="append", default=[], metavar="NAME", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Without files on the command line only the cases run, not the tests of the folder where pytest is started."""
    config.addinivalue_line("markers", "diopi(function, dtype, axis): a case of the conformance suite")
    if _is_selected(config) and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


@pytest.hookimpl(tryfirst=True)  # before the hooks that deselect by -k and -m
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Adds the cases."""
    if _is_selected(session.config):
        from diopigen.pytest_items import collect

        items += collect(session)


def _is_selected(config: pytest.Config) -> bool:
    return bool(config.getoption("--diopi-lib") or config.getoption("--diopi-device"))
