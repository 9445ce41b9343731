// What the operators that resize the dimensions behind the channels have in common.
#ifndef DIOPI_CPU_RESIZE_H_
#define DIOPI_CPU_RESIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "diopi_cpu/tensor.h"
#include "windows.h"

namespace diopi::cpu {

struct Resize {
    int64_t planes;  // batch times channels
    Triple from;
    Triple to;

    // How many planes are worth a thread.
    int64_t grain() const { return 1 + 8192 / (volume(from) + volume(to) + 1); }
};

// The arguments of a forward call. `size_constraint` is the one on size, `message` says that input has no elements.
inline Resize resize_of(const Tensor& out, const Tensor& input, diopiSize_t size, const char* size_constraint,
                        const char* message) {
    const int space = static_cast<int>(input.rank) - 2;
    for (int64_t i = 1; i < input.rank; ++i) {
        require(input.shape[i] > 0, message);
    }
    const Triple to = entries(size_constraint, "size", size, space, 1, 1);
    require_same_dtype(out, input);
    require_shape(out, with_space(input, to, space));
    require_operands(out, {&input});
    return {input.shape[0] * input.shape[1], space_of(input, space), to};
}

// The arguments of a backward call; `in_size` has 3 to 5 entries. `constraint` is the one on them.
inline Resize resize_backward(const Tensor& gradient, const Tensor& arriving, diopiSize_t out_size, diopiSize_t in_size,
                              const char* constraint) {
    const int space = static_cast<int>(in_size.len) - 2;
    for (int64_t i = 0; i < in_size.len; ++i) {
        if (in_size.data[i] < (i == 0 ? 0 : 1) || in_size.data[i] > kLargestEntry) {
            fail(std::string(constraint) + ": parameter 'in_size' must have entries of at least 1 behind the first");
        }
    }
    const Triple to = entries("C2", "out_size", out_size, space, 1, 1);
    std::vector<int64_t> shape(in_size.data, in_size.data + 2);
    shape.insert(shape.end(), out_size.data, out_size.data + out_size.len);
    require_shape(arriving, shape);
    require_same_dtype(gradient, arriving);
    require_shape(gradient, in_size);
    require_operands(gradient, {&arriving});
    return {in_size.data[0] * in_size.data[1], space_of(gradient, space), to};
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_RESIZE_H_
