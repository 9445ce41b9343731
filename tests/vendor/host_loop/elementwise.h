// A vendor's loop for tests: on the host, over float32, float64, integers and bools, element by element in any strides.
#ifndef IMPL_PLAIN_ELEMENTWISE_H_
#define IMPL_PLAIN_ELEMENTWISE_H_

#include <diopigen/elementwise/functions.h>

#include <vector>

namespace impl {
namespace plain {

struct View {
    std::vector<int64_t> shape, stride;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    int64_t elementSize = 0;
    char* data = nullptr;  // null: there is no tensor, or one without elements
    bool isGiven = false;
};

View viewOf(diopiConstTensorHandle_t tensor);
bool overlap(const std::vector<View>& results, const std::vector<View>& operands);

inline int64_t offset(const View& view, const std::vector<int64_t>& at) {
    int64_t found = 0;
    for (size_t d = 0; d < view.shape.size(); ++d) {
        found += view.shape[d] == 1 ? 0 : at[at.size() - view.shape.size() + d] * view.stride[d];
    }
    return found;
}

inline float valueOf(float number) { return number; }
inline double valueOf(double number) { return number; }
template <typename T>
T valueOf(diopigen::elementwise::Integer<T> number) {
    return number.value;
}

// Computes in T; elements are stored as Stored.
template <typename T, typename Stored, typename Function>
void loop(const std::vector<View>& results, const std::vector<View>& operands, const Function& function) {
    const std::vector<int64_t>& shape = results[0].shape;
    std::vector<int64_t> at(shape.size(), 0);
    int64_t count = 1;
    for (const int64_t size : shape) {
        count *= size;
    }
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t d = static_cast<int64_t>(shape.size()), rest = i; d-- > 0; rest /= shape[d]) {
            at[d] = rest % shape[d];
        }
        T in[Function::kOperands + 1] = {}, out[Function::kResults];
        for (size_t k = 0; k < operands.size(); ++k) {
            const View& view = operands[k];
            const int64_t index = view.data == nullptr ? 0 : offset(view, at);
            in[k] = view.data == nullptr             ? T(0)
                    : view.dtype == diopi_dtype_bool ? T(view.data[index] != 0)
                                                     : T(reinterpret_cast<const Stored*>(view.data)[index]);
        }
        function(in, out);
        for (size_t k = 0; k < results.size(); ++k) {
            if (results[k].data != nullptr && results[k].dtype == diopi_dtype_bool) {
                results[k].data[offset(results[k], at)] = out[k] != T(0);
            } else if (results[k].data != nullptr) {
                reinterpret_cast<Stored*>(results[k].data)[offset(results[k], at)] =
                    static_cast<Stored>(valueOf(out[k]));
            }
        }
    }
}

template <typename T, typename Function>
bool integers(const std::vector<View>& results, const std::vector<View>& operands, const Function& function) {
    if constexpr (Function::kTakesIntegers) {
        if (function.template takes<T>()) {
            loop<diopigen::elementwise::Integer<T>, T>(results, operands, function);
            return true;
        }
    }
    return false;
}

// Runs the loop of a dtype; false where the kernel does not take it.
template <typename Function>
bool compute(diopiDtype_t dtype, const std::vector<View>& results, const std::vector<View>& operands,
             const Function& function) {
    switch (dtype) {
        case diopi_dtype_float32:
            loop<float, float>(results, operands, function);
            return true;
        case diopi_dtype_float64:
            loop<double, double>(results, operands, function);
            return true;
        case diopi_dtype_int64:
            return integers<int64_t>(results, operands, function);
        case diopi_dtype_int32:
            return integers<int32_t>(results, operands, function);
        case diopi_dtype_int16:
            return integers<int16_t>(results, operands, function);
        case diopi_dtype_int8:
            return integers<int8_t>(results, operands, function);
        case diopi_dtype_uint8:
            return integers<uint8_t>(results, operands, function);
        default:
            return dtype == diopi_dtype_bool && Function::kTakesBools && integers<bool>(results, operands, function);
    }
}

template <typename Function>
diopiError_t elementwise(diopiContextHandle_t, const char*, diopigen::elementwise::Results results,
                         diopigen::elementwise::Operands operands, Function function) {
    using namespace diopigen::elementwise;
    std::vector<View> written, read;
    std::vector<int64_t> joined;
    diopiDtype_t common = diopi_dtype_unsupported;
    const auto take = [&](diopiConstTensorHandle_t tensor, unsigned flags, std::vector<View>* to) {
        to->push_back(viewOf(tensor));
        const View& view = to->back();
        if (!view.isGiven) {
            return (flags & kOptional) != 0;
        }
        if ((flags & kBool) != 0) {
            return view.dtype == diopi_dtype_bool && view.data != nullptr;
        }
        common = common == diopi_dtype_unsupported ? view.dtype : common;
        return view.dtype == common && view.data != nullptr;
    };
    bool isPlain = true;
    for (const Result& result : results) {
        isPlain = take(result.tensor, result.flags, &written) && isPlain;
        isPlain = isPlain && (!written.back().isGiven || written.back().shape == written[0].shape);
    }
    for (const Operand& operand : operands) {
        isPlain = take(operand.tensor, operand.flags, &read) && isPlain;
        std::vector<int64_t> shape = read.back().shape;
        isPlain = isPlain && (!read.back().isGiven || (operand.flags & kBroadcasts) != 0 || shape == written[0].shape);
        joined.insert(joined.begin(), shape.size() - std::min(shape.size(), joined.size()), 1);
        for (size_t i = 1; i <= shape.size(); ++i) {
            int64_t& size = joined[joined.size() - i];
            isPlain = isPlain && (size == 1 || shape[shape.size() - i] == 1 || size == shape[shape.size() - i]);
            size = size == 1 ? shape[shape.size() - i] : size;
        }
    }
    isPlain = isPlain && (read.empty() || joined == written[0].shape) && !overlap(written, read);
    return isPlain && compute(common, written, read, function) ? diopiSuccess : diopiForceFallbackToCPU;
}

}  // namespace plain
}  // namespace impl

#endif  // IMPL_PLAIN_ELEMENTWISE_H_
