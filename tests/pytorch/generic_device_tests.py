"""Test classes in the way of PyTorch's own, for any device: `instantiate_device_type_tests` makes those of droplet.

A program for `test_device_type.py`, since torch.testing._internal asks for devices when it is imported: droplet must be
there by then. `python generic_device_tests.py -v`, as PyTorch's tests are run.
"""

from __future__ import annotations

from typing import Any

import torch
import torch_droplet  # noqa: F401  what the entry point does where the package is installed
from torch.testing._internal.common_device_type import (
    OpDTypes,
    deviceCountAtLeast,
    dtypes,
    instantiate_device_type_tests,
    onlyAccelerator,
    onlyCPU,
    onlyNativeDeviceTypes,
    onlyOn,
    onlyPRIVATEUSE1,
    ops,
    precisionOverride,
    skipMeta,
    skipPRIVATEUSE1,
    tol,
    toleranceOverride,
)
from torch.testing._internal.common_methods_invocations import binary_ufuncs, op_db, reduction_ops, unary_ufuncs
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_optimizers import optim_db, optims
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests, subtest

NAMED = ("add", "mul", "nn.functional.conv2d", "nn.functional.softmax", "linalg.norm", "index_select", "matmul", "var")
CHOSEN = [op for op in op_db if op.full_name in NAMED]


class TestGeneric(TestCase):
    """Functions of a device that tests of PyTorch call."""

    @ops(CHOSEN, dtypes=OpDTypes.supported, allowed_dtypes=(torch.float32, torch.bfloat16, torch.int64))
    def test_operator(self, device: str, dtype: torch.dtype, op: Any) -> None:
        samples = list(op.sample_inputs(device, dtype))[:8]
        self.assertNotEqual(samples, [])
        for sample in samples:
            self.assertEqual(sample.input.device, torch.device(device))
            own = op(sample.input, *sample.args, **sample.kwargs)
            here = sample.transform(lambda leaf: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf)
            self.assertEqual(own.device.type, torch.device(device).type)
            self.assertEqual(own.cpu(), op(here.input, *here.args, **here.kwargs))

    @ops(unary_ufuncs[:6] + binary_ufuncs[:4], dtypes=OpDTypes.any_one)
    def test_one_dtype(self, device: str, dtype: torch.dtype, op: Any) -> None:
        for sample in list(op.sample_inputs(device, dtype))[:3]:
            self.assertEqual(op(sample.input, *sample.args, **sample.kwargs).device, torch.device(device))

    @ops(reduction_ops[:3], dtypes=OpDTypes.none)
    def test_no_dtype(self, device: str, op: Any) -> None:
        self.assertEqual(op(torch.ones(3, device=device)).device, torch.device(device))

    @modules([info for info in module_db if info.name in ("nn.Linear", "nn.BatchNorm2d", "nn.LSTM")])
    def test_module(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        inputs = module_info.module_inputs_func(
            module_info, device=device, dtype=dtype, requires_grad=False, training=training
        )
        given = inputs[0]
        module = module_info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs)
        module.to(device).to(dtype).train(training)
        results = module(*given.forward_input.args, **given.forward_input.kwargs)
        first = results if isinstance(results, torch.Tensor) else results[0]
        self.assertEqual(first.device, torch.device(device))

    @optims([info for info in optim_db if info.name in ("SGD", "AdamW")])
    def test_optimizer(self, device: str, dtype: torch.dtype, optim_info: Any) -> None:
        for given in optim_info.optim_inputs_func(device=device):
            value = torch.ones(3, device=device, dtype=dtype, requires_grad=True)
            optimizer = optim_info.optim_cls([value], **given.kwargs)
            value.grad = torch.full_like(value, -1.0 if given.kwargs.get("maximize") else 1.0)
            before = value.detach().clone()
            optimizer.step()
            self.assertTrue(bool((value < before).all()), given.desc)

    @dtypes(torch.float32, torch.int64, torch.bool)
    def test_dtypes(self, device: str, dtype: torch.dtype) -> None:
        self.assertEqual(torch.ones(2, device=device, dtype=dtype).cpu(), torch.ones(2, dtype=dtype))

    @parametrize("size", [1, 5, subtest(17, name="odd")])
    @dtypes(torch.float32)
    def test_parametrized(self, device: str, dtype: torch.dtype, size: int) -> None:
        self.assertEqual(torch.arange(size, device=device, dtype=dtype).sum().item(), size * (size - 1) / 2)

    @onlyNativeDeviceTypes
    def test_native(self, device: str) -> None:
        self.assertEqual(torch.zeros(1, device=device).device, torch.device(device))

    @onlyPRIVATEUSE1
    def test_only_here(self, device: str) -> None:
        self.assertEqual(self.device_type, "droplet")

    @onlyOn(["droplet"])
    def test_only_on(self, device: str) -> None:
        self.assertEqual(self.device_type, "droplet")

    @onlyAccelerator
    def test_accelerator(self, device: str) -> None:
        self.assertEqual(torch.accelerator.current_accelerator(), torch.device("droplet"))

    @deviceCountAtLeast(2)
    def test_devices(self, devices: list[str]) -> None:
        self.assertEqual(devices[0], "droplet:0")
        self.assertEqual(torch.ones(2, device=devices[0]).to(devices[1]).device, torch.device(devices[1]))

    @precisionOverride({torch.float32: 0.5})
    @dtypes(torch.float32)
    def test_precision(self, device: str, dtype: torch.dtype) -> None:
        self.assertEqual(torch.ones(1, device=device, dtype=dtype), torch.full((1,), 1.25, device=device, dtype=dtype))

    @toleranceOverride({torch.float32: tol(atol=0.5, rtol=0.0)})
    @dtypes(torch.float32)
    def test_tolerance(self, device: str, dtype: torch.dtype) -> None:
        self.assertEqual(torch.ones(1, device=device, dtype=dtype), torch.full((1,), 1.25, device=device, dtype=dtype))

    @skipMeta
    def test_difference_is_seen(self, device: str) -> None:
        with self.assertRaises(AssertionError):
            self.assertEqual(torch.ones(2, device=device), torch.zeros(2, device=device))

    @onlyCPU
    def test_only_cpu(self, device: str) -> None:
        self.fail("not for droplet")

    @skipPRIVATEUSE1
    def test_skipped(self, device: str) -> None:
        self.fail("not for droplet")


class TestEverywhere(TestCase):
    """Without `only_for`, the device is one of those that there are."""

    def test_device(self, device: str) -> None:
        self.assertEqual(torch.ones(1, device=device).device.type, torch.device(self.device_type).type)


instantiate_device_type_tests(TestGeneric, globals(), only_for=("droplet",))
instantiate_device_type_tests(TestEverywhere, globals())

if __name__ == "__main__":
    run_tests()
