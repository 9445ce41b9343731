"""PyTorch on droplet: `import torch`, and the device "droplet" is there.

Without autoload (`TORCH_DEVICE_BACKEND_AUTOLOAD=0`) import this package yourself. The libraries are in `lib/` next to
it, or where `TORCH_DROPLET_LIBRARIES` says. Modules `pattern_*.py` next to this file add patterns for torch.compile.
"""

from __future__ import annotations


def _autoload() -> None:
    """Entry point `torch.backends`, called when torch is imported: importing this package is enough."""


# Behind _autoload: where this package is imported before torch, torch asks for it while this file still runs.
from diopi_torch.package import *  # noqa: E402, F403
from diopi_torch.package import load  # noqa: E402

load("droplet", __name__, __file__)
