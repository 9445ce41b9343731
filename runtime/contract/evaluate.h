// Expressions of contracts over the arguments of a call.
#ifndef DIOPIGEN_CONTRACT_EVALUATE_H_
#define DIOPIGEN_CONTRACT_EVALUATE_H_

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "table.h"
#include "value.h"

namespace diopigen::contract {

// An argument: a value, or null.
struct Argument {
    bool is_null = true;
    bool is_room = false;  // for a result: not null, and without a value
    bool is_tensor = false;
    bool is_array = false;
    TensorView tensor;
    std::vector<TensorView> tensors;  // of an array, without its null members
    std::vector<TensorView> members;  // with them
    std::optional<Value> value;       // of anything else
};

// The elements of a tensor in row-major order; false where they cannot be read.
using Elements = std::function<bool(const TensorView&, std::vector<Number>&)>;

// The arguments of one call, and the dimensions that shapes of inputs bind.
struct Arguments {
    std::vector<Argument> values;
    std::array<int64_t, kMostDimensions> dimensions{};
    std::array<bool, kMostDimensions> is_bound{};
    Elements elements;
    Expressions expressions{kNodes, kChildren};
};

// False where the expression has no value for these arguments: it reads a null, or a dimension that a tensor lacks.
bool evaluate(const Arguments& arguments, int32_t node, Value& result);
bool evaluate_shape(const Arguments& arguments, int32_t node, Sizes& result);
bool evaluate_integer(const Arguments& arguments, int32_t node, int64_t& result);
bool evaluate_dtype(const Arguments& arguments, int32_t node, diopiDtype_t& result);
// Whether the predicate is satisfied; one without a value is.
bool holds(const Arguments& arguments, int32_t predicate);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_EVALUATE_H_
