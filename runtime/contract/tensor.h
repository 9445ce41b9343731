// What a tensor handle stands for, read through diopirt.h.
#ifndef DIOPIGEN_CONTRACT_TENSOR_H_
#define DIOPIGEN_CONTRACT_TENSOR_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diopigen::contract {

struct TensorInfo {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t device = diopi_host;
    uintptr_t address = 0;  // of element 0
    int64_t element_bytes = 0;
    int64_t numel = 0;
    uint64_t bytes = 0;  // from the first element to the end of the last one; 0 for an empty tensor

    // Whether every byte within `bytes` belongs to an element.
    bool is_gapless() const { return static_cast<uint64_t>(numel * element_bytes) == bytes; }
    diopiSize_t size() const { return {shape.data(), static_cast<int64_t>(shape.size())}; }
    diopiSize_t stride() const { return {strides.data(), static_cast<int64_t>(strides.size())}; }
};

// Throws a Failure where the runtime refuses.
TensorInfo inspect(diopiConstTensorHandle_t tensor);
bool is_sparse(diopiConstTensorHandle_t tensor);

// "[2, 3]", or between other brackets.
std::string text_of(const std::vector<int64_t>& values, const char* open = "[", const char* close = "]");
// "float32[2, 3]", with the strides where they are not row-major.
std::string describe(const TensorInfo& tensor);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_TENSOR_H_
