// The values of expressions in contracts.
#ifndef DIOPIGEN_CONTRACT_VALUE_H_
#define DIOPIGEN_CONTRACT_VALUE_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace diopigen::contract {

using Sizes = std::vector<int64_t>;
struct Number;
using Numbers = std::vector<Number>;
struct Value;
using Values = std::vector<Value>;

// A tensor of a call: what diopirt.h tells of it.
struct TensorView {
    diopiConstTensorHandle_t handle = nullptr;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t device = diopi_host;
    diopiSize_t shape{nullptr, 0};
    diopiSize_t stride{nullptr, 0};  // in elements; none for a sparse tensor
    const void* data = nullptr;
    bool is_sparse = false;

    bool is_null() const { return handle == nullptr; }
    Sizes sizes() const { return Sizes(shape.data, shape.data + shape.len); }
};

// `members` has the null ones, too.
struct TensorArray {
    const TensorView* first = nullptr;
    int64_t count = 0;
    const std::vector<TensorView>* members = nullptr;

    const TensorView* begin() const { return first; }
    const TensorView* end() const { return first + count; }
};

// An entry of a list. Integers stay exact.
struct Number {
    bool is_real = false;
    int64_t integer = 0;
    double real = 0;

    static Number of(int64_t value) { return {false, value, 0}; }
    static Number of(double value) { return {true, 0, value}; }
    double as_real() const { return is_real ? real : static_cast<double>(integer); }
};

struct Value {
    enum class Type : uint8_t { kNumber, kBool, kDtype, kText, kList, kBools, kTensor, kTensors, kScalar };

    Type type = Type::kBool;
    bool boolean = false;
    Number number;
    diopiDtype_t dtype = diopi_dtype_unsupported;  // of kDtype and kScalar
    const char* text = nullptr;
    const TensorView* tensor = nullptr;
    TensorArray tensors;
    Numbers list;  // of kList; bools of kBools

    static Value of(bool value);
    static Value of(int64_t value);
    static Value of(double value);
    static Value of(diopiDtype_t value);
    static Value of(const Sizes& value);
    static Value of(const Number& value);
    static Value of(Numbers entries, Type type = Type::kList);
    static Value of(Value value) { return value; }
};

inline bool is_many(const Value& value) {
    return value.type == Value::Type::kList || value.type == Value::Type::kBools;
}
inline bool is_word(const Value& value) {
    return value.type == Value::Type::kText || value.type == Value::Type::kDtype;
}
// The text, or the name of the dtype.
const char* word_of(const Value& value);
// Of a bool 0 or 1.
Number number_of(const Value& value);
// The entries of a list; a tensor stands for its shape, a number for a list of one entry.
Numbers entries_of(const Value& value);
// The same of integers.
Sizes sizes_of(const Value& value);

inline Value Value::of(bool value) {
    Value result;
    result.type = Type::kBool;
    result.boolean = value;
    return result;
}
inline Value Value::of(int64_t value) {
    Value result;
    result.type = Type::kNumber;
    result.number = Number::of(value);
    return result;
}
inline Value Value::of(double value) {
    Value result;
    result.type = Type::kNumber;
    result.number = Number::of(value);
    return result;
}
inline Value Value::of(diopiDtype_t value) {
    Value result;
    result.type = Type::kDtype;
    result.dtype = value;
    return result;
}
inline Value Value::of(const Number& value) {
    Value result;
    result.type = Type::kNumber;
    result.number = value;
    return result;
}
inline Value Value::of(Numbers entries, Type type) {
    Value result;
    result.type = type;
    result.list = std::move(entries);
    return result;
}
inline Value Value::of(const Sizes& value) {
    Value result;
    result.type = Type::kList;
    result.list.reserve(value.size());
    for (const int64_t size : value) {
        result.list.push_back(Number::of(size));
    }
    return result;
}

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_VALUE_H_
