// Lists of the host in the memory of the device, and memory that is cleared.
#ifndef DIOPI_CUDA_TO_DEVICE_H_
#define DIOPI_CUDA_TO_DEVICE_H_

#include <vector>

#include "diopi_core/dense.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

// Nothing for an empty list.
template <typename V>
Buffer to_device(const std::vector<V>& values) {
    Buffer buffer;
    if (!values.empty()) {
        buffer.allocate(static_cast<int64_t>(values.size() * sizeof(V)));
        send(buffer.data(), values.data(), values.size() * sizeof(V));
    }
    return buffer;
}

// Bytes that are 0.
inline Buffer cleared(int64_t bytes) {
    Buffer buffer;
    buffer.allocate(bytes);
    clear(buffer.data(), static_cast<size_t>(bytes));
    return buffer;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_TO_DEVICE_H_
