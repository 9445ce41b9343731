"""Random numbers against NumPy: values over dtypes and strides, and what is rejected."""

from __future__ import annotations

import numpy as np
from cpu_library import ERROR_OCCURRED, CpuLibrary


def philox_by_hand(seed: int, counter: tuple[int, int, int, int]) -> list[int]:
    c, key = list(counter), [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_random_numbers(cpu: CpuLibrary) -> None:
    # The published known answers of Philox4x32-10.
    assert philox_by_hand(0, (0, 0, 0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert philox_by_hand(ones << 32 | ones, (ones,) * 4) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    generator = cpu.generator(2**40 + 17, 8)
    uniform = np.zeros(5000)
    cpu.call("diopiUniformInp", uniform, 0, 1, generator)
    for i in (0, 1, 4999):
        words = philox_by_hand(2**40 + 17, (i, 0, 8, 0))
        assert uniform[i] == ((words[1] << 32 | words[0]) >> 11) * 2.0**-53
    assert abs(uniform.mean() - 0.5) < 0.02 and uniform.min() >= 0 and uniform.max() < 1
    again = np.zeros(5000)
    cpu.call("diopiUniformInp", again, 0, 1, generator)
    assert not np.array_equal(again, uniform), "the offset has moved on"
    cpu.call("diopiUniformInp", again, 0, 1, cpu.generator(2**40 + 17, 8))
    np.testing.assert_array_equal(again, uniform)
    integral = np.zeros(6000, np.int8)
    cpu.call("diopiRandomInp", integral, -2, 4, generator)
    assert np.unique(integral).tolist() == [-2, -1, 0, 1, 2, 3]
    assert (np.abs(np.bincount(integral + 2) - 1000) < 150).all()
    gauss = np.zeros(20000, np.float32)
    cpu.call("diopiNormalInp", gauss, 3, 2, generator)
    assert abs(gauss.mean() - 3) < 0.06 and abs(gauss.std() - 2) < 0.06
    status, text = cpu.status("diopiRandomInp", integral, 0, 400, generator)
    assert (status, text) == (
        ERROR_OCCURRED,
        "diopiRandomInp: C2: the dtype can hold from and to - 1 (inout=int8[6000], from=0, to=400)",
    )
