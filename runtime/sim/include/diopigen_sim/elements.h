// The load and store unit of the simulated device: elements of tensors in any strides and dtype, as plain arrays.
#ifndef DIOPIGEN_SIM_ELEMENTS_H_
#define DIOPIGEN_SIM_ELEMENTS_H_

#include <diopigen_sim/launch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diopigen::sim {

/// The elements of a tensor of the launch in row-major order, as doubles: exact for all dtypes but large int64. Dtypes:
/// float32, float16, bfloat16, int64, int32, int16, int8, uint8, bool.
std::vector<double> load(const Kernel& kernel, std::size_t position);

/// The same with the tensor broadcast to `shape`. Throws, and so fails the kernel, where it does not broadcast.
std::vector<double> load(const Kernel& kernel, std::size_t position, const std::vector<int64_t>& shape);

/// The elements of a tensor, or `count` times `value` where the optional tensor is not there.
std::vector<double> loadOr(const Kernel& kernel, std::size_t position, int64_t count, double value);

/// Writes all elements in row-major order. Floats are rounded to nearest even, whole numbers wrap, bool is 0 or 1.
void store(const Kernel& kernel, std::size_t position, const std::vector<double>& values);

/// The same, and nothing where the optional tensor is not there.
void storeIfAny(const Kernel& kernel, std::size_t position, const std::vector<double>& values);

/// Copies all elements from one tensor to another of the same shape, in the other's dtype. Whole numbers stay exact, or
/// wrap.
void convert(const Kernel& kernel, std::size_t to, std::size_t from);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_ELEMENTS_H_
