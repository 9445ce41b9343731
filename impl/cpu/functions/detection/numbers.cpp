// Lists and numbers on the host, which is where this library has everything.
#include "detection/numbers.h"

#include <cstring>

namespace diopigen::core {

Buffer list_for_kernels(const void* values, int64_t bytes) {
    Buffer buffer;
    if (bytes > 0) {
        buffer.allocate(bytes);
        std::memcpy(buffer.data(), values, static_cast<size_t>(bytes));
    }
    return buffer;
}

std::vector<int64_t> integers_at(const Int64* values, int64_t count) {
    std::vector<int64_t> found(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        found[i] = values[i].value;
    }
    return found;
}

std::vector<int64_t> integers_of(const Tensor& tensor) {
    const Input<Int64> values(tensor);
    return integers_at(values.data(), tensor.numel);
}

std::vector<float> floats_of(const Tensor& tensor) {
    const Input<float> values(tensor);
    return {values.data(), values.data() + tensor.numel};
}

void store_number(const Tensor& to, int64_t number) {
    const Output<Int64> value(to);
    value[0] = Int64(number);
    value.store();
}

}  // namespace diopigen::core
