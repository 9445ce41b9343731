"""The library with TVM's DeviceAPI serves the version of TVM that it was built with, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from diopi_ffi.device import require_version
from diopigen.diagnostics import Failure


def test_the_same_release_is_accepted(tmp_path: Path) -> None:
    library = tmp_path / "libdiopi_tvm.so"
    library.write_bytes(b"\0diopigen: built for TVM 0.27.0;\0")
    require_version(library, "0.27.0.post1")


@pytest.mark.parametrize(
    ("content", "built_for"), [(b"\0diopigen: built for TVM 0.26.0;\0", "TVM 0.26.0"), (b"\0", "no version of TVM")]
)
def test_another_version_is_one_clear_line(tmp_path: Path, content: bytes, built_for: str) -> None:
    library = tmp_path / "libdiopi_tvm.so"
    library.write_bytes(content)
    with pytest.raises(Failure) as raised:
        require_version(library, "0.27.0.post1")
    (found,) = raised.value.diagnostics
    assert found.code == "tvm-version"
    assert found.message == f"{library} is built for {built_for}, and this is TVM 0.27.0.post1"
    assert found.fix is not None and "rebuild it with TVM 0.27.0.post1" in found.fix
