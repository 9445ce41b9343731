#include "tensor.h"

#include "failure.h"

namespace diopigen::dispatch {

TensorInfo inspect(diopiConstTensorHandle_t tensor) {
    TensorInfo info;
    diopiSize_t size{};
    diopiSize_t stride{};
    const void* data = nullptr;
    require(diopiGetTensorShape(tensor, &size), "diopiGetTensorShape");
    require(diopiGetTensorStride(tensor, &stride), "diopiGetTensorStride");
    require(diopiGetTensorDtype(tensor, &info.dtype), "diopiGetTensorDtype");
    require(diopiGetTensorDevice(tensor, &info.device), "diopiGetTensorDevice");
    require(diopiGetTensorElemSize(tensor, &info.elementBytes), "diopiGetTensorElemSize");
    require(diopiGetTensorNumel(tensor, &info.numel), "diopiGetTensorNumel");
    require(diopiGetTensorDataConst(tensor, &data), "diopiGetTensorDataConst");
    info.shape.assign(size.data, size.data + size.len);
    info.strides.assign(stride.data, stride.data + stride.len);
    info.address = reinterpret_cast<uintptr_t>(data);
    if (info.numel > 0) {
        int64_t last = 0;
        for (size_t i = 0; i < info.shape.size(); ++i) {
            last += (info.shape[i] - 1) * info.strides[i];
        }
        info.bytes = static_cast<uint64_t>((last + 1) * info.elementBytes);
    }
    return info;
}

bool isSparse(diopiConstTensorHandle_t tensor) {
    bool answer = false;
    require(diopiIsTensorSparse(tensor, &answer), "diopiIsTensorSparse");
    return answer;
}

std::string textOf(const std::vector<int64_t>& values, const char* open, const char* close) {
    std::string text = open;
    for (size_t i = 0; i < values.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(values[i]);
    }
    return text + close;
}

std::string describe(const TensorInfo& tensor) {
    std::string text = std::string(nameOf(tensor.dtype)) + textOf(tensor.shape);
    int64_t step = 1;
    bool isRowMajor = true;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
        isRowMajor = isRowMajor && (tensor.shape[i] == 1 || tensor.strides[i] == step);
        step *= tensor.shape[i];
    }
    return isRowMajor || tensor.numel == 0 ? text : text + " strides " + textOf(tensor.strides);
}

}  // namespace diopigen::dispatch
