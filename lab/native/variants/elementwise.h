// Elementwise operators of floats of one dtype, computed again by a formula in the accumulate type.
#pragma once

#include <array>
#include <utility>

#include "work.h"

namespace diopigen::variants {

// The index of the element of a broadcast operand that belongs to an element of the result.
int64_t broadcastIndex(const Dims& shape, const Dims& of, int64_t index);

// The result: `out`, or the operand that an in-place form overwrites.
inline const char* resultOf(const Work& work) {
    return work.call().parameter("out") != nullptr          ? "out"
           : work.call().parameter("grad_input") != nullptr ? "grad_input"
                                                            : "input";
}

// Results of the named operands, which are all there and of one dtype, that of the result. A second operand that is a
// number goes in as one.
template <size_t Count, typename Formula>
bool elementwiseOf(Work& work, const std::array<const char*, Count>& names, const Formula& formula) {
    const View out = work.call().tensor(resultOf(work));
    for (const char* name : names) {
        if (!work.has(name) || work.dtype(name) != out.dtype()) return false;
    }
    return inAccumulateType(out.dtype(), [&](auto zero) {
        using T = decltype(zero);
        std::array<Array<T>, Count> operands;
        for (size_t i = 0; i < Count; ++i) operands[i] = work.read<T>(names[i]);
        std::vector<T> found;
        for (int64_t i = 0; i < out.count(); ++i) {
            std::array<T, Count> at;
            for (size_t n = 0; n < Count; ++n) {
                at[n] = operands[n][broadcastIndex(operands[n].shape, out.shape(), i)];
            }
            found.push_back(std::apply(formula, at));
        }
        return Work::store(out, found);
    });
}

template <typename Formula>
bool elementwise(Work& work, const char* const (&names)[1], const Formula& formula) {
    return elementwiseOf<1>(work, {names[0]}, formula);
}
template <typename Formula>
bool elementwise(Work& work, const char* const (&names)[2], const Formula& formula) {
    return elementwiseOf<2>(work, {names[0], names[1]}, formula);
}
template <typename Formula>
bool elementwise(Work& work, const char* const (&names)[3], const Formula& formula) {
    return elementwiseOf<3>(work, {names[0], names[1], names[2]}, formula);
}

}  // namespace diopigen::variants
