// The loop under elementwise kernels, those of `diopigen elementwise` or others, on a device whose kernels run as
// functions of the host (kernel.h).
#ifndef DIOPIGEN_KERNELS_ELEMENTWISE_H_
#define DIOPIGEN_KERNELS_ELEMENTWISE_H_

#include <diopigen/elementwise/functions.h>
#include <diopigen_kernels/call.h>
#include <diopigen_kernels/processor.h>
#include <diopigen_kernels/vector_math.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <type_traits>

namespace diopigen::kernels {

/// A loop of a function over arrays, from element `first` to `last`. Value is float, double or int64_t.
template <typename Value>
using ElementwiseLoop = void (*)(const void* function, const Value* const* operands, Value* const* results,
                                 int64_t first, int64_t last);

/// The kernel under all elementwise functions. It knows the type of none: it has a copy of the function, and the loop
/// over it, which is one of three. So a function is compiled as a few loops, and not with what loads and stores
/// elements.
struct ElementwiseKernel {
    static constexpr int kMostTensors = 8, kMostBytes = 96;

    template <typename Function>
    explicit ElementwiseKernel(const Function& function) : operands(Function::kOperands), results(Function::kResults) {
        static_assert(std::is_trivially_copyable<Function>::value && sizeof(Function) <= kMostBytes &&
                          alignof(Function) <= 8 && Function::kOperands <= kMostTensors &&
                          Function::kResults <= kMostTensors,
                      "an elementwise function is a few numbers, and takes few tensors");
        new (bytes) Function(function);
    }
    /// `function(operands, results)` for each element of the launch's tensors, the results before the operands.
    void operator()(const Kernel& k) const;

    int operands, results;
    ElementwiseLoop<float> floats = nullptr;
    ElementwiseLoop<double> doubles = nullptr;
    ElementwiseLoop<int64_t> integers = nullptr;
    alignas(8) unsigned char bytes[kMostBytes];  ///< of the function
};

/// `function(operands, results)` in T: float, double, or Integer<int64_t>, whose arrays are of int64_t.
template <typename T, typename Value, typename Function>
void loopOverElements(const void* of, const Value* const* from, Value* const* to, int64_t first, int64_t last) {
    static_assert(sizeof(T) == sizeof(Value), "an element is its value");
    const auto loop = [&function = *static_cast<const Function*>(of), from, to, first, last] {
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
    };
    if constexpr (std::is_same<T, double>::value) {
        loop();
    } else {
        withVectors(loop);
    }
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

/// A call of an elementwise function: its tensors, and what they share.
class ElementwiseCall {
  public:
    ElementwiseCall(diopiContextHandle_t ctx, const char* name, elementwise::Results results,
                    elementwise::Operands operands)
        : call_(ctx, name) {
        for (const auto& result : results) {
            take(result.tensor, Access::write, result.flags);
            givesBools_ = givesBools_ && (result.flags & elementwise::kBool) != 0;
        }
        Shape joined;  // of the operands that have another shape than the result
        bool isWhole = operands.size() == 0, isJoined = false;
        for (const auto& operand : operands) {
            const int k = take(operand.tensor, Access::read, operand.flags);
            if (call_.shape(k) == call_.shape(0)) {
                isWhole = true;
            } else {
                isJoined = true;
                fits_ = broadcast(&joined, call_.shape(k)) && fits_;
            }
        }
        if (isJoined) {
            fits_ = (!isWhole || broadcast(&joined, call_.shape(0))) && fits_;
            reaches_ = joined == call_.shape(0);
        }
    }

    const Call& call() const { return call_; }
    /// The dtype of all tensors but those that are bools whatever the others are.
    diopiDtype_t dtype() const { return dtype_; }
    bool givesBools() const { return givesBools_; }

    /// Why a function that takes floats, and these integers or not, does not take the call.
    Status rejected(bool takesIntegers) const {
        if (!fits_ || !call_.isComplete()) {
            return call_.rejected();
        }
        if (!reaches_) {
            return call_.rejected("the operands do not broadcast to the shape of the result");
        }
        if (!isFloat(dtype_) && dtype_ != diopi_dtype_float64 && !takesIntegers) {
            return call_.rejected("integers, or numbers with them, that the kernel does not take");
        }
        return {};
    }

  private:
    int take(diopiConstTensorHandle_t tensor, Access access, unsigned flags) {
        const int k = call_.add(tensor, access, (flags & elementwise::kOptional) != 0);
        const bool isBool = (flags & elementwise::kBool) != 0;
        if (dtype_ == diopi_dtype_unsupported && !isBool && call_.has(k)) {
            dtype_ = call_.dtype(k);
        }
        fits_ = fits_ && call_.hasDtype(k, isBool ? diopi_dtype_bool : dtype_) &&
                ((flags & elementwise::kBroadcasts) != 0 || call_.hasShape(k, call_.shape(0)));
        return k;
    }

    Call call_;
    diopiDtype_t dtype_ = diopi_dtype_unsupported;
    bool fits_ = true, givesBools_ = true;
    bool reaches_ = true;  // whether the operands broadcast to the shape of the result
};

/// Queues `function(operands, results)` for each element by `launch` (Call::launch): in double for float64, in float
/// for other floating dtypes, in int64, which wraps, for integers and bools. `unsupported`, and nothing has happened,
/// where the tensors do not share a dtype that the function takes, or a shape, but for what their flags allow.
template <typename Function, typename Launch>
Status forEachElement(diopiContextHandle_t ctx, const char* name, elementwise::Results results,
                      elementwise::Operands operands, Function function, const Launch& launch) {
    const ElementwiseCall each(ctx, name, results, operands);
    const bool isInteger = takesIntegers(function, each.dtype(), each.givesBools());
    if (const Status status = each.rejected(isInteger); !status.ok()) {
        return status;
    }
    ElementwiseKernel kernel(function);
    if (!isInteger && each.dtype() == diopi_dtype_float64) {
        kernel.doubles = loopOverElements<double, double, Function>;
    } else if (!isInteger) {
        kernel.floats = loopOverElements<float, float, Function>;
    } else if constexpr (Function::kTakesIntegers) {
        kernel.integers = loopOverElements<elementwise::Integer<int64_t>, int64_t, Function>;
    }
    return each.call().launch(launch, kernel);
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_ELEMENTWISE_H_
