#include "tensor.h"

#include "dtypes.h"
#include "failure.h"

namespace diopigen::contract {

TensorInfo inspect(diopiConstTensorHandle_t tensor) {
    TensorInfo info;
    diopiSize_t size{};
    diopiSize_t stride{};
    const void* data = nullptr;
    require(diopiGetTensorShape(tensor, &size), "diopiGetTensorShape");
    const bool has_storage = !is_sparse(tensor);
    if (has_storage) {
        require(diopiGetTensorStride(tensor, &stride), "diopiGetTensorStride");
    }
    require(diopiGetTensorDtype(tensor, &info.dtype), "diopiGetTensorDtype");
    if (diopiGetTensorDevice != nullptr) {
        require(diopiGetTensorDevice(tensor, &info.device), "diopiGetTensorDevice");
    }
    if (has_storage) {
        require(diopiGetTensorDataConst(tensor, &data), "diopiGetTensorDataConst");
    }
    info.shape.assign(size.data, size.data + size.len);
    info.strides.assign(stride.data, stride.data + stride.len);
    info.element_bytes = element_bytes(info.dtype);
    info.numel = 1;
    int64_t last = 0;
    for (int64_t i = 0; i < size.len; ++i) {
        info.numel *= size.data[i];
        last += has_storage ? (size.data[i] - 1) * stride.data[i] : 0;
    }
    info.address = reinterpret_cast<uintptr_t>(data);
    info.bytes = info.numel == 0 || !has_storage ? 0 : static_cast<uint64_t>((last + 1) * info.element_bytes);
    return info;
}

bool is_sparse(diopiConstTensorHandle_t tensor) {
    bool answer = false;
    if (diopiIsTensorSparse == nullptr) {
        return answer;
    }
    require(diopiIsTensorSparse(tensor, &answer), "diopiIsTensorSparse");
    return answer;
}

std::string text_of(const std::vector<int64_t>& values, const char* open, const char* close) {
    std::string text = open;
    for (size_t i = 0; i < values.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(values[i]);
    }
    return text + close;
}

std::string describe(const TensorInfo& tensor) {
    std::string text = std::string(dtype_name(tensor.dtype)) + text_of(tensor.shape);
    int64_t step = 1;
    bool is_row_major = true;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
        is_row_major = is_row_major && (tensor.strides.empty() || tensor.shape[i] == 1 || tensor.strides[i] == step);
        step *= tensor.shape[i];
    }
    return is_row_major || tensor.numel == 0 ? text : text + " strides " + text_of(tensor.strides);
}

}  // namespace diopigen::contract
