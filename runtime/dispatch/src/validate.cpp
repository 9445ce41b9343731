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

bool elementsOf(const HostCopy& copy, const TensorView& tensor, std::vector<Number>& elements) {
    for (const auto& one : copy.tensors()) {
        const Operand& operand = *one.operand;
        const diopiConstTensorHandle_t handle =
            operand.kind == Kind::tensors ? operand.handles()[one.index] : operand.handle();
        if (handle != tensor.handle || contract::isComplex(tensor.dtype)) {
            continue;
        }
        elements.clear();
        Index index(one.info.shape);
        for (int64_t i = 0; i < one.info.numel; ++i, index.advance()) {
            const char* const element = one.data + index.offset(one.info);
            elements.push_back(contract::isFloating(tensor.dtype) ? Number::of(realAt(tensor.dtype, element, 0))
                                                                  : Number::of(integerAt(tensor.dtype, element)));
        }
        return true;
    }
    return false;
}

}  // namespace

std::optional<Failure> violation(const Entry& entry, diopiContextHandle_t ctx, Operands operands, bool readsElements) {
    const contract::CheckedCall call(static_cast<contract::Id>(&entry - entries), operands);
    if (!readsElements) {
        return call.violation();
    }
    std::optional<HostCopy> copy;
    return call.violation([&](const TensorView& tensor, std::vector<Number>& elements) {
        if (!copy) {
            copy.emplace(ctx, operands, Fetch::read);
        }
        return elementsOf(*copy, tensor, elements);
    });
}

}  // namespace diopigen::dispatch
