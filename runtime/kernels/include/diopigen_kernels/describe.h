// Tensors in messages.
#ifndef DIOPIGEN_KERNELS_DESCRIBE_H_
#define DIOPIGEN_KERNELS_DESCRIBE_H_

#include <diopigen/dtypes.h>
#include <diopigen_kernels/buffer.h>

#include <string>

namespace diopigen::kernels {

/// The names of the dtypes of a mask (chip.h): "float32, float16".
std::string dtypeNames(uint32_t mask);

/// "[2, 3]"
std::string describe(const Shape& sizes);

/// Dtype and shape of a tensor: "float32 [2, 3]".
std::string describe(const Buffer& tensor);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_DESCRIBE_H_
