// The loop under elementwise kernels, those of `diopigen elementwise` or others, on a device whose kernels run as
// functions of the host (kernel.h).
#ifndef DIOPIGEN_KERNELS_ELEMENTWISE_H_
#define DIOPIGEN_KERNELS_ELEMENTWISE_H_

#include <diopigen/elementwise/functions.h>
#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/parallel.h>
#include <diopigen_kernels/processor.h>
#include <diopigen_kernels/vector_math.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>

namespace diopigen::kernels {

/// The loop of computeElements() over arrays, from element `first` to `last`.
template <typename T, typename Value, typename Function>
[[gnu::always_inline]] inline void computeRange(const Value* const* from, Value* const* to, int64_t first, int64_t last,
                                                const Function& function) {
    constexpr int kOperands = Function::kOperands, kResults = Function::kResults;
    const Value* operands[kOperands + 1];
    Value* results[kResults];
    std::copy_n(from, kOperands, operands);
    std::copy_n(to, kResults, results);
    for (int64_t at = first; at < last; ++at) {
        T x[kOperands + 1], y[kResults];
        for (int i = 0; i < kOperands; ++i) {
            x[i] = T(operands[i][at]);
        }
        function(x, y);
        for (int i = 0; i < kResults; ++i) {
            if constexpr (elementwise::IsInteger<T>::value) {
                results[i][at] = y[i].value;
            } else {
                results[i][at] = y[i];
            }
        }
    }
}

/// `function(operands, results)` for each element, in T: float, double, or Integer<int64_t>, whose arrays are of
/// int64_t.
template <typename T, typename Function>
void computeElements(const Kernel& k, const Function& function) {
    const Shape& shape = k.buffer(0).shape;
    using Value = typename std::conditional<elementwise::IsInteger<T>::value, int64_t, T>::type;
    static_assert(sizeof(T) == sizeof(Value), "an element is its value");
    constexpr int kOperands = Function::kOperands, kResults = Function::kResults;
    std::optional<Output<Value>> out[kResults];
    std::optional<Input<Value>> in[kOperands + 1];
    Value* to[kResults];
    const Value* from[kOperands + 1];
    for (int i = 0; i < kResults; ++i) {
        to[i] = out[i].emplace(k, i, shape).data();
    }
    for (int i = 0; i < kOperands; ++i) {
        from[i] = in[i].emplace(k, kResults + i, shape).data();
    }
    const auto compute = [&](int64_t first, int64_t last) {
        const auto range = [&] { computeRange<T, Value>(from, to, first, last, function); };
        if constexpr (std::is_same<T, double>::value) {
            range();
        } else {
            withVectors(range);
        }
    };
    const int64_t size = product(shape);
    if (size <= grainOf(1)) {
        compute(0, size);
    } else {
        forRanges(size, grainOf(1), compute);
    }
    std::for_each(std::begin(out), std::end(out), [](std::optional<Output<Value>>& each) { each->finish(); });
}

/// Whether the integers of a dtype, bool included, are the ones that a kernel takes, and the numbers of the call are
/// such.
template <typename Function>
bool takesIntegers(const Function& function, diopiDtype_t dtype, bool givesBools) {
    if constexpr (Function::kTakesIntegers) {
        switch (dtype) {
            case diopi_dtype_int64:
                return function.template takes<int64_t>();
            case diopi_dtype_int32:
                return function.template takes<int32_t>();
            case diopi_dtype_int16:
                return function.template takes<int16_t>();
            case diopi_dtype_int8:
                return function.template takes<int8_t>();
            case diopi_dtype_uint8:
                return function.template takes<uint8_t>();
            case diopi_dtype_bool:  // compared with an integer it is promoted, and the result is a bool all the same
                return Function::kTakesBools &&
                       (givesBools ? function.template takes<int64_t>() : function.template takes<bool>());
            default:
                return false;
        }
    }
    return false;
}

/// Queues `function(operands, results)` for each element by `launch` (Call::launch): in double for float64, in float
/// for other floating dtypes, in int64, which wraps, for integers and bools. `unsupported`, and nothing has happened,
/// where the tensors do not share a dtype that the function takes, or a shape, but for what their flags allow.
template <typename Function, typename Launch>
Status forEachElement(diopiContextHandle_t ctx, const char* name, elementwise::Results results,
                      elementwise::Operands operands, Function function, const Launch& launch) {
    using elementwise::kBroadcasts, elementwise::kOptional, elementwise::kBool;
    Call call(ctx, name);
    diopiDtype_t common = diopi_dtype_unsupported;  // of all but bools
    bool fits = true, givesBools = true;
    const auto take = [&](diopiConstTensorHandle_t tensor, Access access, unsigned flags) {
        const int k = call.add(tensor, access, (flags & kOptional) != 0);
        const bool isBool = (flags & kBool) != 0;
        if (common == diopi_dtype_unsupported && !isBool && call.has(k)) {
            common = call.dtype(k);
        }
        fits = fits && call.hasDtype(k, isBool ? diopi_dtype_bool : common) &&
               ((flags & kBroadcasts) != 0 || call.hasShape(k, call.shape(0)));
        return k;
    };
    for (const auto& result : results) {
        take(result.tensor, Access::write, result.flags);
        givesBools = givesBools && (result.flags & kBool) != 0;
    }
    Shape joined = operands.size() == 0 ? call.shape(0) : Shape{};
    for (const auto& operand : operands) {
        const int k = take(operand.tensor, Access::read, operand.flags);
        fits = broadcast(&joined, call.shape(k)) && fits;
    }
    if (!fits || !call.isComplete()) {
        return call.rejected();
    }
    if (joined != call.shape(0)) {
        return call.rejected("the operands do not broadcast to the shape of the result");
    }
    const bool isInteger = takesIntegers(function, common, givesBools);
    if (!isFloat(common) && common != diopi_dtype_float64 && !isInteger) {
        return call.rejected("integers, or numbers with them, that the kernel does not take");
    }
    if constexpr (Function::kTakesIntegers) {
        if (isInteger) {
            return call.launch(
                launch, [function](const Kernel& k) { computeElements<elementwise::Integer<int64_t>>(k, function); });
        }
    }
    if (common == diopi_dtype_float64) {
        return call.launch(launch, [function](const Kernel& k) { computeElements<double>(k, function); });
    }
    return call.launch(launch, [function](const Kernel& k) { computeElements<float>(k, function); });
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_ELEMENTWISE_H_
