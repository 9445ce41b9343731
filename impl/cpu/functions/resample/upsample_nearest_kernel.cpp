// UpsampleNearest, forward and backward. The loops.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/threads.h"
#include "resample/resample_kernels.h"
#include "resample/resize.h"

namespace diopigen::core {

namespace {

// Calls `visit(to, from)` for the elements of one plane.
template <typename Visit>
void for_each_copy(const Resize& resize, const Sources& source, Visit&& visit) {
    int64_t to = 0;
    for (const int64_t z : source[0]) {
        for (const int64_t y : source[1]) {
            const int64_t row = (z * resize.from[1] + y) * resize.from[2];
            for (const int64_t x : source[2]) {
                visit(to++, row + x);
            }
        }
    }
}

}  // namespace

void copy_nearest(const Tensor& out_tensor, const Tensor& input_tensor, const Resize& resize, const Sources& source) {
    dispatch<kFloating | kUint8>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<T> y(out_tensor);
        parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t plane = begin; plane < end; ++plane) {
                const T* from = x.data() + plane * volume(resize.from);
                T* to = y.data() + plane * volume(resize.to);
                for_each_copy(resize, source, [&](int64_t i, int64_t j) { to[i] = from[j]; });
            }
        });
        y.store();
    });
}

void add_nearest(const Tensor& gradient, const Tensor& grad_out, const Resize& resize, const Sources& source) {
    dispatch_compute<kFloating>(grad_out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> y(grad_out);
        const Output<T> x(gradient);
        parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t plane = begin; plane < end; ++plane) {
                T* to = x.data() + plane * volume(resize.from);
                const T* from = y.data() + plane * volume(resize.to);
                std::fill_n(to, volume(resize.from), T(0));
                for_each_copy(resize, source, [&](int64_t i, int64_t j) { to[j] += from[i]; });
            }
        });
        x.store();
    });
}

}  // namespace diopigen::core
