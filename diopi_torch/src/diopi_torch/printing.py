"""Prints tensors of the device: their values are formatted on the CPU.

PyTorch computes how wide numbers are with a dozen operators on the tensor's own device, each of which would be a
launch, and a notice where a function is not in the vendor's library.
"""

from __future__ import annotations

import torch
from torch import _tensor_str as printer


def install(device_type: str) -> None:
    """Formats values of tensors of the device on the CPU, for `repr` and `str`."""
    format_values = printer._tensor_str

    def format_on_cpu(tensor: torch.Tensor, indent: int) -> str:
        return str(format_values(tensor.cpu() if tensor.device.type == device_type else tensor, indent))

    printer._tensor_str = format_on_cpu
