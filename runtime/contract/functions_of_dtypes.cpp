#include <cmath>
#include <limits>

#include "dtypes.h"
#include "evaluator.h"

namespace diopigen::contract {

bool Evaluator::promoted(const Node& node, diopiDtype_t& result) const {
    Promotion promotion;
    for (int i = 0; i < node.count; ++i) {
        const Node& operand = nodes[child(node, i)];
        if (operand.op == Op::kParameter) {
            const Argument& one = arguments_.values[static_cast<size_t>(operand.integer)];
            if (one.isTensor && !one.isArray && !one.isNull) {
                promotion.add(one.tensor.dtype,
                              one.tensor.shape.len > 0 ? Promotion::kDimensioned : Promotion::kZeroDimensional);
                continue;
            }
        }
        Value found;
        if (!value(child(node, i), found)) {
            continue;  // a null does not take part
        }
        if (found.type == Type::kScalar) {
            promotion.add(found.dtype, Promotion::kNumber);
            continue;
        }
        const TensorArray array = found.type == Type::kTensor ? TensorArray{found.tensor, 1, nullptr} : found.tensors;
        for (int64_t k = 0; k < array.count; ++k) {
            const TensorView& one = array.first[k];
            promotion.add(one.dtype, one.shape.len > 0 ? Promotion::kDimensioned : Promotion::kZeroDimensional);
        }
    }
    result = promotion.result();
    return !promotion.isEmpty();
}

bool Evaluator::ofDtypes(const Node& node, Value& result) const {
    diopiDtype_t found = diopi_dtype_unsupported;
    if (!(node.function == Fn::promote ? promoted(node, found) : dtype(child(node, 0), found))) {
        return false;
    }
    const int kind = category(found);
    int64_t low = 0;
    uint64_t high = 0;
    switch (node.function) {
        case Fn::dtype:
        case Fn::promote:
            result = Value::of(found);
            return true;
        case Fn::to_float:
            result = Value::of(toFloat(found));
            return true;
        case Fn::accumulate:
            result = Value::of(kind >= 2 ? found : diopi_dtype_int64);
            return true;
        case Fn::opmath:
            result = Value::of(toOpmath(found));
            return true;
        case Fn::to_real:
            result = Value::of(toReal(found));
            return true;
        case Fn::to_complex:
            result = Value::of(toComplex(found));
            return true;
        case Fn::category:
            result = Value::of(int64_t{kind});
            return true;
        case Fn::is_bool:
            result = Value::of(kind == 0);
            return true;
        case Fn::is_integral:
            result = Value::of(kind == 1);
            return true;
        case Fn::is_floating:
            result = Value::of(kind == 2);
            return true;
        case Fn::is_complex:
            result = Value::of(kind == 3);
            return true;
        case Fn::exact_integers:
            result = Value::of(exactIntegers(found));
            return true;
        default:
            break;
    }
    const bool hasRange = rangeOf(found, low, high);
    if (node.function == Fn::can_hold) {
        Number input;
        if (!number(child(node, 1), input)) {
            return false;
        }
        const double real = std::trunc(input.asReal());
        const bool isInteger =
            input.isReal
                // 2^63 is a double, the largest int64 is not.
                ? std::isfinite(real) && real >= static_cast<double>(low) && real < static_cast<double>(high) + 1
                : input.integer >= low && (input.integer < 0 || static_cast<uint64_t>(input.integer) <= high);
        const bool isReal = !std::isfinite(input.asReal()) || std::fabs(input.asReal()) <= largestOf(toReal(found));
        result = Value::of(hasRange ? isInteger : isReal);
        return true;
    }
    if (!hasRange || high > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return false;
    }
    result = Value::of(node.function == Fn::lowest ? low : static_cast<int64_t>(high));
    return true;
}

}  // namespace diopigen::contract
