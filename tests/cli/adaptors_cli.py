"""A vendor's folder to run `diopigen adaptors` on, and the command in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Adaptors(Protocol):
    """`diopigen adaptors` for a vendor's folder, or with any arguments in any folder."""

    def __call__(self, vendor: Path, *arguments: str, code: int = 0) -> tuple[str, str]: ...

    def command(self, arguments: list[str], folder: Path, code: int) -> tuple[str, str]: ...


SOURCE = """\
#include <diopi/functions.h>

namespace impl::VENDOR {

diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiNoImplement;
}

diopiError_t diopiCopyInp(diopiContextHandle_t, diopiConstTensorHandle_t, diopiTensorHandle_t) {
    return diopiNoImplement;
}

diopiError_t diopiContiguous(diopiContextHandle_t, diopiTensorHandle_t*, diopiConstTensorHandle_t,
                             diopiMemoryFormat_t) {
    return diopiNoImplement;
}

diopiError_t diopiSoftmax(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, int64_t) {
    return diopiNoImplement;
}

diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiNoImplement;
}

}  // namespace impl::VENDOR
"""

CONFIG = """\
- common_config:
    dtype: (int16)->int32
    layout: NCHW

- diopiSoftmax:
    dtype: (float16, bfloat16)->float32
    layout: NHWC, out(ND)
"""


def created(folder: Path, name: str, config: str | None = CONFIG) -> Path:
    directory = folder / "impl" / name
    (directory / "functions").mkdir(parents=True)
    (directory / "functions" / "kernels.cpp").write_text(SOURCE.replace("VENDOR", name))
    if config is not None:
        (directory / "convert_config.yaml").write_text(config)
    return directory
