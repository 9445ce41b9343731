"""vLLM on the device of a `torch_<vendor>` package: entry points that vLLM calls in each of its processes.

The device's name comes from that package (`diopi_torch.package.device()`), so that one plugin serves every vendor.
"""

from __future__ import annotations

import importlib.util

import torch  # noqa: F401  # loads the vendor's package, by its entry point

__version__ = "0.2.0"


def platform() -> str | None:
    """Returns the path of the platform's class, or None if no device of DIOPI is loaded.

    vLLM ignores exceptions of this function: for a release that is not supported, importing the class raises one.
    """
    from diopi_torch.package import is_loaded

    return "vllm_diopi.platform.DiopiPlatform" if is_loaded() else None


def register() -> None:
    """Registers layers and kernels of linear layers, if the device of DIOPI is vLLM's platform; then calls `register`
    of the vendor's module `torch_<vendor>.serving`, if there is one."""
    from diopi_torch import _backend

    if _backend.is_loaded():
        from . import layers

        layers.register()
        own = f"{_backend.vendor().package}.serving"
        if importlib.util.find_spec(own) is not None:
            importlib.import_module(own).register()


__all__ = ["platform", "register"]
