// UpsampleLinear, forward and backward: linear or cubic interpolation, one dimension after the other. The loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/threads.h"
#include "resample/cubic.h"
#include "resample/resample_kernels.h"
#include "resample/resize.h"

namespace diopigen::core {

namespace {

// Calls `visit(to, depth, height)` for the rows of a result: the position of its first element, and the taps.
template <typename Visit>
void for_each_row(const Resize& resize, const AllTaps& all, Visit&& visit) {
    int64_t to = 0;
    for (const Taps& depth : all[0]) {
        for (const Taps& height : all[1]) {
            visit(to, depth, height);
            to += resize.to[2];
        }
    }
}

// Calls `visit(from, weight)` for the rows that a row of the result is computed from.
template <typename Visit>
void for_each_tap(const Resize& resize, const Taps& depth, const Taps& height, Visit&& visit) {
    for (int z = 0; z < depth.count; ++z) {
        for (int y = 0; y < height.count; ++y) {
            visit((depth.index[z] * resize.from[1] + height.index[y]) * resize.from[2],
                  depth.weight[z] * height.weight[y]);
        }
    }
}

// One plane: the rows that matter are added up, then the elements of their sum. `line` has room for a row.
template <typename T>
void interpolate(const Resize& resize, const AllTaps& all, const T* from, T* to, std::vector<double>& line) {
    for_each_row(resize, all, [&](int64_t at, const Taps& depth, const Taps& height) {
        std::fill(line.begin(), line.end(), 0.0);
        for_each_tap(resize, depth, height, [&](int64_t row, double weight) {
            for (size_t x = 0; x < line.size(); ++x) {
                line[x] += weight * from[row + static_cast<int64_t>(x)];
            }
        });
        for (const Taps& width : all[2]) {
            double sum = 0;
            for (int x = 0; x < width.count; ++x) {
                sum += width.weight[x] * line[static_cast<size_t>(width.index[x])];
            }
            to[at++] = static_cast<T>(sum);
        }
    });
}

// The transpose of `interpolate`; adds to `sums`.
template <typename T>
void spread(const Resize& resize, const AllTaps& all, const T* from, std::vector<double>& sums,
            std::vector<double>& line) {
    for_each_row(resize, all, [&](int64_t at, const Taps& depth, const Taps& height) {
        std::fill(line.begin(), line.end(), 0.0);
        for (const Taps& width : all[2]) {
            const double value = from[at++];
            for (int x = 0; x < width.count; ++x) {
                line[static_cast<size_t>(width.index[x])] += width.weight[x] * value;
            }
        }
        for_each_tap(resize, depth, height, [&](int64_t row, double weight) {
            for (size_t x = 0; x < line.size(); ++x) {
                sums[static_cast<size_t>(row) + x] += weight * line[x];
            }
        });
    });
}

}  // namespace

void interpolate(const Tensor& out_tensor, const Tensor& input_tensor, const Resize& resize, const AllTaps& taps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<T> y(out_tensor);
        parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
            std::vector<double> line(static_cast<size_t>(resize.from[2]));
            for (int64_t plane = begin; plane < end; ++plane) {
                interpolate(resize, taps, x.data() + plane * volume(resize.from), y.data() + plane * volume(resize.to),
                            line);
            }
        });
        y.store();
    });
}

void spread(const Tensor& gradient, const Tensor& grad_out, const Resize& resize, const AllTaps& taps) {
    dispatch_compute<kFloating>(grad_out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> y(grad_out);
        const Output<T> x(gradient);
        parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
            std::vector<double> sums(static_cast<size_t>(volume(resize.from)));
            std::vector<double> line(static_cast<size_t>(resize.from[2]));
            for (int64_t plane = begin; plane < end; ++plane) {
                std::fill(sums.begin(), sums.end(), 0.0);
                spread(resize, taps, y.data() + plane * volume(resize.to), sums, line);
                std::transform(sums.begin(), sums.end(), x.data() + plane * volume(resize.from),
                               [](double sum) { return static_cast<T>(sum); });
            }
        });
        x.store();
    });
}

}  // namespace diopigen::core
