// The loop of droplet under the elementwise kernels that `diopigen elementwise` writes.
#ifndef IMPL_DROPLET_ELEMENTWISE_H_
#define IMPL_DROPLET_ELEMENTWISE_H_

#include <diopigen/elementwise/functions.h>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

template <typename Function>
diopiError_t elementwise(Context ctx, const char* name, diopigen::elementwise::Results results,
                         diopigen::elementwise::Operands operands, Function function) {
    using diopigen::elementwise::kBroadcasts, diopigen::elementwise::kOptional, diopigen::elementwise::kTruth;
    Call call(ctx, name);
    diopiDtype_t common = diopi_dtype_unsupported;  // of all but truth values
    bool isPlain = true;
    const auto take = [&](In tensor, Access access, unsigned flags) {
        const int k = call.add(tensor, access, (flags & kOptional) != 0);
        const bool isTruth = (flags & kTruth) != 0;
        common = common == diopi_dtype_unsupported && !isTruth ? call.dtype(k) : common;
        isPlain = isPlain && call.haveDtype({k}, isTruth ? diopi_dtype_bool : common) && (isTruth || isFloat(common)) &&
                  ((flags & kBroadcasts) != 0 || call.haveShape({k}, call.shape(0)));
        return k;
    };
    for (const auto& result : results) {
        take(result.tensor, Access::write, result.flags);
    }
    const Shape shape = call.shape(0);
    Shape joined = operands.size() == 0 ? shape : Shape{};
    for (const auto& operand : operands) {
        const int k = take(operand.tensor, Access::read, operand.flags);
        isPlain = broadcast(&joined, call.shape(k)) && isPlain;
    }
    if (!isPlain || joined != shape) {
        return kLeave;
    }
    return run(call, [shape, function](const Kernel& k) {
        const Values none(static_cast<size_t>(product(shape)));
        std::vector<Values> in, out(Function::kResults, none);
        for (size_t i = Function::kResults; i < k.count(); ++i) {
            in.push_back(k.buffer(i).isTensor ? load(k, i, shape) : none);
        }
        for (size_t at = 0; at < none.size(); ++at) {
            float x[Function::kOperands + 1], y[Function::kResults];  // computes in float32, whatever is stored
            std::transform(in.begin(), in.end(), x, [at](const Values& each) { return static_cast<float>(each[at]); });
            function(x, y);
            for (int i = 0; i < Function::kResults; ++i) {
                out[i][at] = y[i];
            }
        }
        for (int i = 0; i < Function::kResults; ++i) {
            storeIfAny(k, i, out[i]);
        }
    });
}

}  // namespace droplet
}  // namespace impl

#endif  // IMPL_DROPLET_ELEMENTWISE_H_
