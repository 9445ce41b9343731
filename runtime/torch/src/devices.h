// Operands of two devices.
#ifndef DIOPIGEN_TORCH_DEVICES_H_
#define DIOPIGEN_TORCH_DEVICES_H_

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <string>

namespace diopigen::backend {

/// Raises PyTorch's error for operands of two devices; `where` follows its sentence.
[[noreturn]] inline void reject_devices(c10::Device one, c10::Device other, const std::string& where = {}) {
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", one, " and ",
                other, "!", where);
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DEVICES_H_
