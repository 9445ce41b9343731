#include "validate.h"

#include <vector>

#include "checked_call.h"
#include "dtypes.h"
#include "element.h"
#include "host_copy.h"

namespace diopigen::dispatch {

namespace {

using contract::Number;
using contract::TensorView;

bool elements_of(const HostCopy& copy, const TensorView& tensor, std::vector<Number>& elements) {
    for (const auto& one : copy.tensors()) {
        const Operand& operand = *one.operand;
        const diopiConstTensorHandle_t handle =
            operand.kind == Kind::kTensors ? operand.handles()[one.index] : operand.handle();
        if (handle != tensor.handle || contract::is_complex(tensor.dtype)) {
            continue;
        }
        elements.clear();
        Index index(one.info.shape);
        for (int64_t i = 0; i < one.info.numel; ++i, index.advance()) {
            const char* const element = one.data + index.offset(one.info);
            elements.push_back(contract::is_floating(tensor.dtype) ? Number::of(real_at(tensor.dtype, element, 0))
                                                                   : Number::of(integer_at(tensor.dtype, element)));
        }
        return true;
    }
    return false;
}

}  // namespace

std::optional<Failure> violation(const Entry& entry, diopiContextHandle_t ctx, Operands operands, bool reads_elements) {
    const contract::CheckedCall call(static_cast<contract::Id>(&entry - entries), operands);
    if (!reads_elements) {
        return call.violation();
    }
    std::optional<HostCopy> copy;
    return call.violation([&](const TensorView& tensor, std::vector<Number>& elements) {
        if (!copy) {
            copy.emplace(ctx, operands, Fetch::kRead);
        }
        return elements_of(*copy, tensor, elements);
    });
}

}  // namespace diopigen::dispatch
