// The evaluator of expressions: evaluate.cpp has values and operators, call.cpp calls the functions of functions.h.
#ifndef DIOPIGEN_CONTRACT_EVALUATOR_H_
#define DIOPIGEN_CONTRACT_EVALUATOR_H_

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "evaluate.h"
#include "table.h"
#include "value.h"

namespace diopigen::contract {

using Type = Value::Type;

// The kinds of arguments; diopigen/contract/functions.py says what each accepts.
enum class Take : uint8_t {
    kNumber,
    kInteger,
    kNumbers,
    kBoolean,
    kBools,
    kValue,
    kElements,
    kList,
    kSizes,
    kShape,
    kDims,
    kDtype,
    kTensor,
    kTensors,
    kIndices,
    kItems,
    kOperand,
    kExtent,
};

constexpr int kMostArguments = 8;

// A function of the table, which `diopigen generate` writes (generated/contract/functions.cpp).
struct FunctionFacts {
    const char* name;
    Take takes[kMostArguments];
    uint8_t count;  // of arguments; the last one repeats where `is_variadic`
    bool is_variadic;
    uint8_t by_entry;  // a bit for each argument in whose place a list has one result for each entry
    bool (*body)(const Values& arguments, Value& result);
    int32_t formula;  // a node of `kFormulas`, or -1
};

extern const FunctionFacts kFunctionFacts[];
extern const Expressions kFormulas;

namespace detail {

template <typename T>
decltype(auto) argument_as(const Value& value) {
    if constexpr (std::is_same_v<T, int64_t>) {
        return int64_t{value.number.integer};
    } else if constexpr (std::is_same_v<T, Number>) {
        return (value.number);
    } else if constexpr (std::is_same_v<T, bool>) {
        return bool{value.boolean};
    } else if constexpr (std::is_same_v<T, diopiDtype_t>) {
        return diopiDtype_t{value.dtype};
    } else if constexpr (std::is_same_v<T, TensorView>) {
        return (*value.tensor);
    } else if constexpr (std::is_same_v<T, TensorArray>) {
        return (value.tensors);
    } else if constexpr (std::is_same_v<T, std::vector<TensorView>>) {
        return (*value.tensors.members);
    } else if constexpr (std::is_same_v<T, Numbers>) {
        return (value.list);
    } else if constexpr (std::is_same_v<T, Sizes>) {
        return sizes_of(value);
    } else {
        static_assert(std::is_same_v<T, Value>);
        return (value);
    }
}

template <typename R, typename... A, size_t... I>
std::optional<R> called(std::optional<R> (*body)(A...), const Values& arguments, std::index_sequence<I...>) {
    return body(argument_as<std::decay_t<A>>(arguments[I])...);
}

// A function of any number of arguments gets all of them, any other gets each as its type.
template <typename R, typename... A>
std::optional<R> called(std::optional<R> (*body)(A...), const Values& arguments) {
    if constexpr ((std::is_same_v<A, const Values&> && ...)) {
        return body(arguments);
    } else {
        return called(body, arguments, std::index_sequence_for<A...>());
    }
}

template <auto body>
bool apply(const Values& arguments, Value& result) {
    auto found = called(body, arguments);
    if (found) {
        result = Value::of(std::move(*found));
    }
    return found.has_value();
}

}  // namespace detail

// Each member returns false where the expression has no value.
class Evaluator {
  public:
    explicit Evaluator(const Arguments& arguments) : arguments_(arguments), table_(arguments.expressions) {}
    // For the formula of a function, whose parameters have these values.
    Evaluator(const Arguments& arguments, const Values& frame)
        : arguments_(arguments), table_(kFormulas), frame_(&frame) {}

    bool value(int32_t index, Value& result) const;
    // A value to compute with: a scalar without its dtype, a tensor by its elements.
    bool plain(int32_t index, Value& result) const;
    bool boolean(int32_t index, bool& result) const;
    // An argument of a function.
    bool argument(int32_t index, Take take, Value& result) const;

  private:
    bool parameter(int64_t position, Value& result) const;
    bool is_null(const Node& node) const;
    bool binary(const Node& node, Value& result) const;
    bool logical(const Node& node, Value& result) const;
    bool call(const Node& node, Value& result) const;
    bool special(const Node& node, Value& result) const;
    bool by_entry(const FunctionFacts& facts, const Values& arguments, Value& result) const;
    bool apply(const FunctionFacts& facts, const Values& arguments, Value& result) const;

    int32_t child(const Node& node, int position) const { return table_.children[node.first + position]; }

    const Arguments& arguments_;
    const Expressions& table_;
    const Values* frame_ = nullptr;
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_EVALUATOR_H_
