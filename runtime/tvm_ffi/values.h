// Arguments of packed functions as the C functions of the interface take them. Each type holds what its pointer points
// to, so that a call allocates nothing for short lists; each converts to the C type.
#ifndef DIOPIGEN_TVM_FFI_VALUES_H_
#define DIOPIGEN_TVM_FFI_VALUES_H_

#include <diopi/diopirt.h>
#include <tvm/ffi/c_api.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "failure.h"

namespace diopigen::ffi {

/// An argument with the name of its parameter, for messages.
struct Argument {
    const TVMFFIAny* value;
    const char* name;

    bool is_none() const { return value->type_index == kTVMFFINone; }
    /// A TypeError that says what the parameter takes, and what was passed.
    [[noreturn]] void reject(const char* expected) const;
    [[noreturn]] void fail(const char* kind, const std::string& what) const;

    /// Integers and bools; an integral float is no integer.
    int64_t integer() const;
    /// Floats, integers and bools.
    double real() const;
    bool boolean() const;
};

template <class Value>
Value number_of(const Argument& argument);
template <>
inline int64_t number_of<int64_t>(const Argument& argument) {
    return argument.integer();
}
template <>
inline double number_of<double>(const Argument& argument) {
    return argument.real();
}
template <>
inline float number_of<float>(const Argument& argument) {
    return static_cast<float>(argument.real());
}
template <>
inline bool number_of<bool>(const Argument& argument) {
    return argument.boolean();
}
template <>
inline int32_t number_of<int32_t>(const Argument& argument) {
    const int64_t value = argument.integer();
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
        argument.fail("ValueError", std::to_string(value) + " does not fit into int32");
    }
    return static_cast<int32_t>(value);
}

/// A number that may be left out: a pointer to it, or null.
template <class Value>
class Optional {
  public:
    explicit Optional(const Argument& argument) : given_(!argument.is_none()) {
        if (given_) {
            value_ = number_of<Value>(argument);
        }
    }
    operator const Value*() const { return given_ ? &value_ : nullptr; }

  private:
    bool given_;
    Value value_{};
};

/// A number with a dtype: a Python number, or a list of a number and its dtype.
class Scalar {
  public:
    explicit Scalar(const Argument& argument);
    operator const diopiScalar_t*() const { return given_ ? &value_ : nullptr; }
    operator diopiScalar_t*() { return given_ ? &value_ : nullptr; }

  private:
    bool given_ = true;
    diopiScalar_t value_{};
};

/// The elements of a list, borrowed. Lists of tvm-ffi hold values; a shape holds integers.
struct List {
    /// The elements of an Array or a List. Raises a TypeError for others.
    static List of(const Argument& argument, const char* expected);

    const TVMFFIAny* data;
    int64_t size;
};

/// Integers: a Shape, or a list of integers, or one integer as a list of it.
class Sizes {
  public:
    explicit Sizes(const Argument& argument);
    Sizes(const Sizes&) = delete;
    Sizes& operator=(const Sizes&) = delete;
    operator diopiSize_t() const { return sizes_; }
    /// Null where none was passed.
    operator const diopiSize_t*() const { return given_ ? &sizes_ : nullptr; }
    operator diopiSize_t*() { return given_ ? &sizes_ : nullptr; }

  private:
    static constexpr int64_t kInlineSize = 8;
    bool given_ = true;
    diopiSize_t sizes_{nullptr, 0};
    std::array<int64_t, kInlineSize> few_;
    std::vector<int64_t> many_;
};

/// A text; null where none was passed.
class Text {
  public:
    explicit Text(const Argument& argument);
    operator const char*() const { return given_ ? text_.c_str() : nullptr; }

  private:
    bool given_ = true;
    std::string text_;
};

/// Handles in a row, as arrays of tensors and generators are passed.
template <class Handle, class ConstHandle>
class Handles {
  public:
    Handles() = default;
    explicit Handles(int64_t size) : handles_(static_cast<size_t>(size), nullptr) {}
    void push_back(Handle handle) { handles_.push_back(handle); }
    /// No list at all, which is a null pointer for the operator.
    void leave_out() { given_ = false; }
    bool is_given() const { return given_; }
    int64_t size() const { return static_cast<int64_t>(handles_.size()); }
    Handle operator[](int64_t index) const { return handles_[static_cast<size_t>(index)]; }
    operator Handle*() { return handles_.empty() ? nullptr : handles_.data(); }
    operator ConstHandle*() { return const_cast<ConstHandle*>(static_cast<Handle*>(*this)); }

  private:
    bool given_ = true;
    std::vector<Handle> handles_;
};
using Tensors = Handles<diopiTensorHandle_t, diopiConstTensorHandle_t>;
using Generators = Handles<diopiGeneratorHandle_t, diopiConstGeneratorHandle_t>;

/// The dtype of the interface, or diopi_dtype_unsupported.
diopiDtype_t dtype_of(DLDataType type);
/// The dtype of DLPack. Raises a TypeError for tfloat32, which DLPack has no code for.
DLDataType dlpack_of(diopiDtype_t dtype);

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_VALUES_H_
