// Elements of tensors of any strides and dtype as plain arrays, and back.
#ifndef DIOPIGEN_KERNELS_ELEMENTS_H_
#define DIOPIGEN_KERNELS_ELEMENTS_H_

#include <diopigen_kernels/kernel.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace diopigen::kernels {

using Values = std::vector<double>;

/// `visit(zero)` with a zero of the type that Input and Output have each element of a dtype in exactly: float, double
/// or int64_t.
template <typename Visit>
void withValues(diopiDtype_t dtype, Visit visit) {
    if (dtype == diopi_dtype_float64) {
        visit(double{0});
    } else {
        isFloat(dtype) ? visit(float{0}) : visit(int64_t{0});
    }
}

/// Whether elements of the dtype can be loaded and stored: floats, integers and bool.
bool isLoadable(diopiDtype_t dtype);

/// The elements of a tensor of the launch in row-major order, as doubles: exact for all dtypes but large 64-bit
/// integers. Dtypes: all of floats, integers and bool; complex ones throw, and so fail the kernel.
std::vector<double> load(const Kernel& kernel, std::size_t position);

/// The same with the tensor broadcast to `shape`. Throws, and so fails the kernel, where it does not broadcast.
std::vector<double> load(const Kernel& kernel, std::size_t position, const Shape& shape);

/// The elements of a tensor, or `count` times `value` where the optional tensor is not there.
std::vector<double> loadOr(const Kernel& kernel, std::size_t position, int64_t count, double value);

/// Writes all elements in row-major order. Floats are rounded to nearest even, whole numbers wrap, bool is 0 or 1.
void store(const Kernel& kernel, std::size_t position, const std::vector<double>& values);

/// The same, and nothing where the optional tensor is not there.
void storeIfAny(const Kernel& kernel, std::size_t position, const std::vector<double>& values);

/// The elements of a tensor that is read, broadcast to `shape`, as values of one type in row-major order: where they
/// lie, if they are laid out so in memory, else converted. An optional tensor that is not there has zeros. Value is
/// float (exact for float32, float16, bfloat16, bool and integers below 2^24), double or int64_t (exact for bool and
/// all integers; uint64 wraps).
template <typename Value>
class Input {
  public:
    /// Throws, and so fails the kernel, where the tensor does not broadcast.
    Input(const Kernel& kernel, std::size_t position, const Shape& shape);
    const Value* data() const { return data_; }

  private:
    std::unique_ptr<Value[]> own_;
    const Value* data_;
};

/// Where the elements of a tensor are written as values of one type in row-major order: in the tensor itself, if that
/// is possible, else in an array, which finish() stores. An optional tensor that is not there has elements that go
/// nowhere. Where an operand of the launch shares the memory, an element may be written once that of the operand is
/// read.
template <typename Value>
class Output {
  public:
    Output(const Kernel& kernel, std::size_t position, const Shape& shape);
    Value* data() { return data_; }
    void finish();

  private:
    const Kernel& kernel_;
    std::size_t position_;
    std::unique_ptr<Value[]> own_;
    Value* data_;
};

using FloatInput = Input<float>;
using FloatOutput = Output<float>;

/// Whether the elements of a tensor of the launch are an array of Value with this shape in memory, which Input and
/// Output do not copy.
template <typename Value>
bool isArray(const Kernel& kernel, std::size_t position, const Shape& shape);

/// Copies all elements from one tensor to another, broadcast to its shape and in its dtype. Integers stay exact, or
/// wrap; from and to float64 elements go through double, from and to other floating dtypes through float.
void convert(const Kernel& kernel, std::size_t to, std::size_t from);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_ELEMENTS_H_
