// The arguments of a call without their C types, so that one piece of code serves all operators.
#ifndef DIOPIGEN_CONTRACT_OPERAND_H_
#define DIOPIGEN_CONTRACT_OPERAND_H_

#include <diopi/diopirt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace diopigen::contract {

enum class Kind : uint8_t {
    kTensor,
    kTensors,
    kAllocated,
    kBoolean,
    kInteger,
    kReal,
    kScalar,
    kSizes,
    kText,
    kGenerator,
    kOther
};
// What the operator does with it; partly written tensors count as `inout`.
enum class Direction : uint8_t { kIn, kOut, kInout };

// An argument: the address of the parameter itself, so that it can be replaced for a call.
struct Operand {
    const char* name = "";
    Kind kind = Kind::kOther;
    Direction direction = Direction::kIn;
    void* slot = nullptr;
    int64_t count = 1;    // of tensors
    uint8_t width = 0;    // bytes of a number
    bool points = false;  // the parameter is a pointer to the value; null where none is given

    bool is_written() const { return direction != Direction::kIn; }
    // Where the value lies; null where none is given.
    const void* value() const { return points ? *static_cast<void* const*>(slot) : slot; }

    // For integer and real that are given: the number.
    int64_t integer() const {
        switch (width) {
            case 1:
                return *static_cast<const int8_t*>(value());
            case 4:
                return *static_cast<const int32_t*>(value());
            default:
                return *static_cast<const int64_t*>(value());
        }
    }
    double real() const {
        return width == 4 ? static_cast<double>(*static_cast<const float*>(value()))
                          : *static_cast<const double*>(value());
    }

    // For tensor: its handle.
    diopiTensorHandle_t& handle() const { return *static_cast<diopiTensorHandle_t*>(slot); }
    // For tensors and allocated: the array of handles.
    diopiTensorHandle_t*& handles() const { return *static_cast<diopiTensorHandle_t**>(slot); }
};

namespace detail {

template <typename T>
constexpr Kind kind_of() {
    if constexpr (std::is_same_v<T, bool>) {
        return Kind::kBoolean;
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        return Kind::kInteger;
    } else if constexpr (std::is_floating_point_v<T>) {
        return Kind::kReal;
    } else if constexpr (std::is_same_v<T, diopiScalar_t>) {
        return Kind::kScalar;
    } else if constexpr (std::is_same_v<T, diopiSize_t>) {
        return Kind::kSizes;
    } else {
        return Kind::kOther;
    }
}

// The operand of anything but a tensor.
template <typename T>
Operand value_operand(const char* name, const T& parameter, Direction direction) {
    void* const slot = const_cast<T*>(&parameter);
    if constexpr (std::is_convertible_v<T, diopiConstGeneratorHandle_t>) {
        return {name, Kind::kGenerator, direction, slot};
    } else if constexpr (std::is_convertible_v<T, const char*>) {
        return {name, Kind::kText, direction, slot};
    } else if constexpr (std::is_pointer_v<T>) {
        using Pointed = std::remove_cv_t<std::remove_pointer_t<T>>;
        if constexpr (kind_of<Pointed>() == Kind::kOther) {
            return {name, Kind::kOther, direction, slot};
        } else {
            return {name, kind_of<Pointed>(), direction, slot, 1, sizeof(Pointed), true};
        }
    } else {
        return {name, kind_of<T>(), direction, slot, 1, static_cast<uint8_t>(sizeof(T))};
    }
}

}  // namespace detail

// The operands of a call, in the order of the parameters. They refer to the parameters themselves.
template <size_t N>
class OperandList {
  public:
    template <typename Handle>
    void in(const char* name, Handle& handle) {
        add_tensor(name, Direction::kIn, handle);
    }
    template <typename Handle>
    void out(const char* name, Handle& handle) {
        add_tensor(name, Direction::kOut, handle);
    }
    template <typename Handle>
    void inout(const char* name, Handle& handle) {
        add_tensor(name, Direction::kInout, handle);
    }

    // Arrays of tensors.
    template <typename Handle>
    void in(const char* name, Handle*& handles, int64_t count) {
        add({name, Kind::kTensors, Direction::kIn, &handles, count});
    }
    template <typename Handle>
    void out(const char* name, Handle*& handles, int64_t count) {
        add({name, Kind::kTensors, Direction::kOut, &handles, count});
    }
    template <typename Handle>
    void inout(const char* name, Handle*& handles, int64_t count) {
        add({name, Kind::kTensors, Direction::kInout, &handles, count});
    }

    // Tensors that the operator allocates.
    void allocated(const char* name, diopiTensorHandle_t*& handles, int64_t count = 1) {
        add({name, Kind::kAllocated, Direction::kOut, &handles, count});
    }

    // Anything else.
    template <typename T>
    void value(const char* name, const T& parameter, Direction direction = Direction::kIn) {
        add(detail::value_operand(name, parameter, direction));
    }

    const Operand* data() const { return operands_.data(); }

  private:
    template <typename Handle>
    void add_tensor(const char* name, Direction direction, Handle& handle) {
        static_assert(std::is_convertible_v<Handle, diopiConstTensorHandle_t>);
        add({name, Kind::kTensor, direction, &handle});
    }
    void add(const Operand& operand) { operands_[count_++] = operand; }

    std::array<Operand, N> operands_;
    size_t count_ = 0;
};

// A view of operands.
struct Operands {
    const Operand* first;
    int64_t count;

    Operands(const Operand* first, int64_t count) : first(first), count(count) {}
    template <size_t N>
    Operands(const OperandList<N>& list) : first(list.data()), count(N) {}

    const Operand* begin() const { return first; }
    const Operand* end() const { return first + count; }
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_OPERAND_H_
