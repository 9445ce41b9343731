// UpsampleLinear, forward and backward: linear or cubic interpolation, one dimension after the other.
#include <diopi/functions.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "cubic.h"
#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "resize.h"

using namespace diopi::cpu;

namespace {

// Which elements of the input an element of the result is made of, along one dimension.
struct Taps {
    int count = 1;
    std::array<int64_t, 4> index{};
    std::array<double, 4> weight{};
};
using AllTaps = std::array<std::vector<Taps>, kSpace>;

Taps taps_at(double position, int64_t size, bool is_cubic) {
    Taps taps;
    if (is_cubic) {
        const auto first = static_cast<int64_t>(std::floor(position));
        const std::array<double, 4> weights = cubic_weights(position - std::floor(position));
        taps.count = 4;
        for (int i = 0; i < 4; ++i) {
            taps.index[i] = std::clamp<int64_t>(first - 1 + i, 0, size - 1);
            taps.weight[i] = weights[i];
        }
    } else {
        const double inside = std::max(position, 0.0);
        const int64_t first = std::min(static_cast<int64_t>(inside), size - 1);
        const double rest = std::clamp(inside - static_cast<double>(first), 0.0, 1.0);
        taps.count = 2;
        taps.index = {first, std::min(first + 1, size - 1)};
        taps.weight = {1 - rest, rest};
    }
    return taps;
}

// The first `kSpace - space` dimensions are not resized.
AllTaps taps_of(const Resize& resize, int space, bool align_corners, bool is_cubic) {
    AllTaps all;
    for (int k = 0; k < kSpace; ++k) {
        const auto from = static_cast<double>(resize.from[k]);
        const auto to = static_cast<double>(resize.to[k]);
        for (int64_t i = 0; i < resize.to[k]; ++i) {
            const auto at = static_cast<double>(i);
            if (k < kSpace - space) {
                all[k].push_back({1, {0}, {1}});
            } else if (align_corners) {
                all[k].push_back(taps_at(to > 1 ? at * (from - 1) / (to - 1) : 0, resize.from[k], is_cubic));
            } else {
                all[k].push_back(taps_at((at + 0.5) * from / to - 0.5, resize.from[k], is_cubic));
            }
        }
    }
    return all;
}

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

// Calls `visit(from, weight)` for the rows that a row of the result is made of.
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

// Whether the mode is cubic; `rank` counts batch and channels.
bool is_cubic(const char* mode, int64_t rank, const char* message) {
    require_text("mode", mode, {"linear", "bilinear", "bicubic", "trilinear"});
    const bool is_cubic = std::strcmp(mode, "bicubic") == 0;
    const int64_t needed = std::strcmp(mode, "linear") == 0 ? 3 : std::strcmp(mode, "trilinear") == 0 ? 5 : 4;
    require(rank == needed, message);
    return is_cubic;
}

}  // namespace

DIOPI_API diopiError_t diopiUpsampleLinear(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                           diopiConstTensorHandle_t input, diopiSize_t size, bool align_corners,
                                           const char* mode) {
    return guarded("diopiUpsampleLinear", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const bool cubic =
            is_cubic(mode, input_tensor.rank, "C1: parameter 'mode' does not fit the number of dimensions of input");
        const Resize resize = resize_of(out_tensor, input_tensor, size, "C2",
                                        "C3: parameter 'input' must have elements in all dimensions but the first");
        if (out_tensor.numel == 0) {
            return;
        }
        const AllTaps taps = taps_of(resize, static_cast<int>(input_tensor.rank) - 2, align_corners, cubic);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Output<T> y(out_tensor);
            parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
                std::vector<double> line(static_cast<size_t>(resize.from[2]));
                for (int64_t plane = begin; plane < end; ++plane) {
                    interpolate(resize, taps, x.data() + plane * volume(resize.from),
                                y.data() + plane * volume(resize.to), line);
                }
            });
            y.store();
        });
    });
}

DIOPI_API diopiError_t diopiUpsampleLinearBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                   diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                                                   diopiSize_t in_size, bool align_corners, const char* mode) {
    return guarded("diopiUpsampleLinearBackward", [&] {
        const Tensor gradient = tensor("grad_input", grad_input, kFloating);
        const Tensor arriving = tensor("grad_output", grad_output, kFloating);
        require_sizes("in_size", in_size);
        const bool cubic = is_cubic(mode, in_size.len, "C1: parameter 'mode' does not fit the length of in_size");
        const Resize resize = resize_backward(gradient, arriving, out_size, in_size, "C1");
        if (gradient.numel == 0) {
            return;
        }
        const AllTaps taps = taps_of(resize, static_cast<int>(in_size.len) - 2, align_corners, cubic);
        dispatch_compute<kFloating>(arriving.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> y(arriving);
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
    });
}
