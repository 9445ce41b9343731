#include <algorithm>
#include <cmath>

#include "dtypes.h"
#include "functions.h"
#include "number.h"

namespace diopigen::contract::functions {

namespace {

// An integer that may be beyond int64.
Number number_of(uint64_t value) {
    return value >> 63U == 0 ? Number::of(static_cast<int64_t>(value)) : Number::of(static_cast<double>(value));
}

}  // namespace

// Of tensors, arrays and numbers.
std::optional<diopiDtype_t> promote(const Values& operands) {
    Promotion promotion;
    const auto add = [&](const TensorView& one) {
        promotion.add(one.dtype, one.shape.len > 0 ? Promotion::kDimensioned : Promotion::kZeroDimensional);
    };
    for (const Value& operand : operands) {
        switch (operand.type) {
            case Value::Type::kScalar:
                promotion.add(operand.dtype, Promotion::kNumber);
                break;
            case Value::Type::kBool:
                promotion.add(diopi_dtype_bool, Promotion::kNumber);
                break;
            case Value::Type::kNumber:
                promotion.add(operand.number.is_real ? diopi_dtype_float64 : diopi_dtype_int64, Promotion::kNumber);
                break;
            case Value::Type::kTensor:
                add(*operand.tensor);
                break;
            default:
                std::for_each(operand.tensors.begin(), operand.tensors.end(), add);
        }
    }
    const diopiDtype_t found = promotion.is_empty() ? diopi_dtype_unsupported : promotion.result();
    return found == diopi_dtype_unsupported ? std::nullopt : std::optional(found);
}

std::optional<diopiDtype_t> dtype(diopiDtype_t dtype) { return dtype; }
std::optional<diopiDtype_t> to_float(diopiDtype_t dtype) { return contract::to_float(dtype); }
std::optional<diopiDtype_t> accumulate(diopiDtype_t dtype) {
    return contract::category(dtype) >= 2 ? dtype : diopi_dtype_int64;
}
std::optional<diopiDtype_t> opmath(diopiDtype_t dtype) { return contract::to_opmath(dtype); }
std::optional<diopiDtype_t> to_real(diopiDtype_t dtype) { return contract::to_real(dtype); }
std::optional<diopiDtype_t> to_complex(diopiDtype_t dtype) { return contract::to_complex(dtype); }
std::optional<int64_t> category(diopiDtype_t dtype) { return contract::category(dtype); }

std::optional<bool> can_hold(diopiDtype_t dtype, const Number& number) {
    int64_t low = 0;
    uint64_t high = 0;
    if (!range_of(dtype, low, high)) {
        return !std::isfinite(number.as_real()) || std::fabs(number.as_real()) <= largest_of(contract::to_real(dtype));
    }
    if (!number.is_real) {
        return number.integer >= low && (number.integer < 0 || static_cast<uint64_t>(number.integer) <= high);
    }
    const double whole = std::trunc(number.real);
    // 2^63 is a double, the largest int64 is not.
    return std::isfinite(whole) && whole >= static_cast<double>(low) && whole < static_cast<double>(high) + 1;
}

std::optional<Number> lowest(diopiDtype_t dtype) {
    int64_t low = 0;
    uint64_t high = 0;
    return range_of(dtype, low, high) ? std::optional(Number::of(low)) : std::nullopt;
}

std::optional<Number> highest(diopiDtype_t dtype) {
    int64_t low = 0;
    uint64_t high = 0;
    return range_of(dtype, low, high) ? std::optional(number_of(high)) : std::nullopt;
}

std::optional<Number> exact_integers(diopiDtype_t dtype) {
    const std::optional<Number> largest = highest(dtype);
    return largest ? largest : Number::of(int64_t{1} << (is_floating(dtype) ? dtype_facts(dtype).digits : 53));
}

}  // namespace diopigen::contract::functions
