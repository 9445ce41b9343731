// The vector unit of the simulated device: the loop under elementwise kernels, those of `diopigen elementwise` or
// others.
#ifndef DIOPIGEN_SIM_VECTOR_H_
#define DIOPIGEN_SIM_VECTOR_H_

#include <diopigen/elementwise/functions.h>
#include <diopigen_sim/call.h>
#include <diopigen_sim/elements.h>

namespace diopigen::sim {

/// Queues `function(operands, results)` for each element, in float32 whatever the dtype. `unsupported`, and nothing has
/// happened, where the tensors do not share a floating dtype, or a shape, but for what their flags allow.
template <typename Function>
Status forEachElement(diopiContextHandle_t ctx, const char* name, elementwise::Results results,
                      elementwise::Operands operands, Function function) {
    using elementwise::kBroadcasts, elementwise::kOptional, elementwise::kTruth;
    Call call(ctx, name);
    diopiDtype_t common = diopi_dtype_unsupported;  // of all but bools
    bool isPlain = true;
    const auto take = [&](diopiConstTensorHandle_t tensor, Access access, unsigned flags) {
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
        return {Code::unsupported, std::string(name) + ": operands of odd dtypes or shapes"};
    }
    return call.launch([shape, function](const Kernel& k) {
        constexpr int kOperands = Function::kOperands, kResults = Function::kResults;
        std::vector<FloatOutput> out;
        std::vector<FloatInput> in;
        float* to[kResults];
        const float* from[kOperands + 1];
        for (int i = 0; i < kResults; ++i) {
            to[i] = out.emplace_back(k, i, shape).data();
        }
        for (int i = 0; i < kOperands; ++i) {
            from[i] = in.emplace_back(k, kResults + i, shape).data();
        }
        for (int64_t at = 0, size = product(shape); at < size; ++at) {
            float x[kOperands + 1], y[kResults];  // computes in float32, whatever is stored
            for (int i = 0; i < kOperands; ++i) {
                x[i] = from[i][at];
            }
            function(x, y);
            for (int i = 0; i < kResults; ++i) {
                to[i][at] = y[i];
            }
        }
        std::for_each(out.begin(), out.end(), [](FloatOutput& each) { each.finish(); });
    });
}

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_VECTOR_H_
