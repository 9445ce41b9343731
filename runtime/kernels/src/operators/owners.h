// How the operators of this folder call the objects of diopigen_kernels/serving, and what these read and write.
#ifndef DIOPIGEN_KERNELS_OPERATORS_OWNERS_H_
#define DIOPIGEN_KERNELS_OPERATORS_OWNERS_H_

#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/parallel.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace diopigen::kernels::operators {

/// Calls `owner` for all numbers below `count`, each of which costs about `cost` operations.
template <typename Owner>
void each(int64_t count, int64_t cost, const Owner& owner) {
    forRanges(count, grainOf(cost), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            owner(i);
        }
    });
}

/// Throws `std::out_of_range` with `text` unless all numbers are in [least, end).
inline void require_within(const int64_t* numbers, int64_t count, int64_t least, int64_t end, const char* text) {
    if (std::any_of(numbers, numbers + count, [=](int64_t each) { return each < least || each >= end; })) {
        throw std::out_of_range(text);
    }
}

/// The data of an optional tensor, null where it is not there.
template <typename Operand>
auto data_of(const Kernel& kernel, std::size_t position, const Operand& operand) -> decltype(operand.data()) {
    return kernel.buffer(position).isTensor ? operand.data() : nullptr;
}

/// The floats of tensor `to`, which is operand `from` as well: elements that are not written stay as they are.
class ChangedFloats {
  public:
    ChangedFloats(const Kernel& kernel, std::size_t to, std::size_t from, const Shape& shape)
        : before_(kernel, from, shape), after_(kernel, to, shape) {
        if (after_.data() != before_.data()) {
            std::copy_n(before_.data(), product(shape), after_.data());
        }
    }
    float* data() { return after_.data(); }
    void finish() { after_.finish(); }

  private:
    FloatInput before_;
    FloatOutput after_;
};

}  // namespace diopigen::kernels::operators

#endif  // DIOPIGEN_KERNELS_OPERATORS_OWNERS_H_
