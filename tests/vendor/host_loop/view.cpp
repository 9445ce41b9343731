#include <algorithm>

#include "plain/elementwise.h"

namespace impl {
namespace plain {

namespace {

int64_t reach(const View& view) {
    int64_t last = 0;
    for (size_t d = 0; d < view.shape.size(); ++d) {
        last += (view.shape[d] - 1) * view.stride[d];
    }
    return (last + 1) * view.elementSize;
}

}  // namespace

View viewOf(diopiConstTensorHandle_t tensor) {
    View view;
    diopiSize_t shape{}, stride{};
    const void* data = nullptr;
    if (tensor == nullptr || diopiGetTensorShape(tensor, &shape) != diopiSuccess ||
        diopiGetTensorStride(tensor, &stride) != diopiSuccess ||
        diopiGetTensorDtype(tensor, &view.dtype) != diopiSuccess ||
        diopiGetTensorElemSize(tensor, &view.elementSize) != diopiSuccess ||
        diopiGetTensorDataConst(tensor, &data) != diopiSuccess) {
        return view;
    }
    view.isGiven = true;
    view.shape.assign(shape.data, shape.data + shape.len);
    view.stride.assign(stride.data, stride.data + stride.len);
    const bool isEmpty = std::count(view.shape.begin(), view.shape.end(), 0) > 0;
    view.data = isEmpty ? nullptr : static_cast<char*>(const_cast<void*>(data));
    return view;
}

// Whether results share memory with each other, or with an operand that is not the same tensor.
bool overlap(const std::vector<View>& results, const std::vector<View>& operands) {
    const auto meet = [](const View& a, const View& b) {
        return a.data != nullptr && b.data != nullptr && a.data < b.data + reach(b) && b.data < a.data + reach(a);
    };
    for (size_t i = 0; i < results.size(); ++i) {
        for (size_t k = 0; k < results.size(); ++k) {
            if (i != k && meet(results[i], results[k])) {
                return true;
            }
        }
        for (const View& operand : operands) {
            const bool isSame = operand.data == results[i].data && operand.stride == results[i].stride &&
                                operand.shape == results[i].shape && operand.dtype == results[i].dtype;
            if (!isSame && meet(results[i], operand)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace plain
}  // namespace impl
