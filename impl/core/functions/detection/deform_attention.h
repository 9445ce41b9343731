// Attention to samples of maps of several sizes (Deformable DETR, Zhu et al., 2021), and columns of chosen windows, for
// the libraries of all devices. `Each` is how a library calls an object for all owners of results: each(count, cost,
// body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_ATTENTION_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_ATTENTION_H_

#include <vector>

#include "detection.h"
#include "detection/bilinear.h"
#include "detection/detection_kernels.h"
#include "detection/numbers.h"
#include "detection/row_blocks.h"
#include "diopi_core/kernel_checks.h"
#include "indexing/positions.h"

namespace diopigen::core {

// ---- Attention: values [batch, pixels, heads, size], samples [batch, queries, heads, levels, points]. ----

// The first pixel of a level, and its map.
struct Level {
    int64_t start;
    PixelMap map;
};

struct Samples {
    const double* value;
    const double* positions;  // (x, y) of each sample
    const double* weight;
    const Level* levels;
    int64_t pixels;
    int64_t queries;
    int64_t heads;
    int64_t size;
    int64_t level_count;
    int64_t points;

    // Samples of a query and head.
    DIOPI_HOST_DEVICE int64_t per_query() const { return level_count * points; }
    DIOPI_HOST_DEVICE const Level& level(int64_t sample) const { return levels[sample / points % level_count]; }
    DIOPI_HOST_DEVICE Around around(int64_t sample) const {
        const PixelMap& map = level(sample).map;
        return {positions[2 * sample + 1] * static_cast<double>(map.height) - 0.5,
                positions[2 * sample] * static_cast<double>(map.width) - 0.5, map};
    }
    // The first element of a level for one batch, head and index into the size; `number` counts these three.
    DIOPI_HOST_DEVICE int64_t plane(int64_t number, int64_t sample) const {
        const int64_t batch = number / (heads * size);
        return (batch * pixels + level(sample).start) * heads * size + number % (heads * size);
    }
};

// An owner for each block of a row of results, [batch, queries, heads][size].
struct SumSamples {
    double* to;
    Samples of;

    DIOPI_HOST_DEVICE RowOfBlocks<SumSamples> row(int64_t k) const { return {*this, k, of.size}; }

    template <int64_t kCount>
    DIOPI_HOST_DEVICE void write(int64_t row, int64_t begin) const {
        const int64_t head = row / (of.queries * of.heads) * of.heads + row % of.heads;  // of all batches
        double sums[kCount] = {};
        for (int64_t sample = row * of.per_query(); sample < (row + 1) * of.per_query(); ++sample) {
            const double* const planes = of.value + of.plane(head * of.size + begin, sample);
            of.around(sample).template add_values<kCount>(of.weight[sample], planes, sums);
        }
        for (int64_t i = 0; i < kCount; ++i) {
            to[row * of.size + begin + i] = sums[i];
        }
    }
};

// An owner for each batch, head and index into the size.
struct AddValueGradients {
    double* sums;
    const double* gradient;
    Samples of;

    DIOPI_HOST_DEVICE void operator()(int64_t number) const {
        const int64_t batch = number / (of.heads * of.size);
        for (int64_t query = 0; query < of.queries; ++query) {
            const int64_t at = (batch * of.queries + query) * of.heads * of.size + number % (of.heads * of.size);
            const int64_t first = at / of.size * of.per_query();
            for (int64_t sample = first; sample < first + of.per_query(); ++sample) {
                of.around(sample).add(sums + of.plane(number, sample), of.weight[sample] * gradient[at]);
            }
        }
    }
};

// An owner for each sample.
struct AddSampleGradients {
    double* of_positions;
    double* of_weight;
    const double* gradient;
    Samples of;

    DIOPI_HOST_DEVICE void operator()(int64_t sample) const {
        const int64_t row = sample / of.per_query();
        const int64_t first = (row / (of.queries * of.heads) * of.heads + row % of.heads) * of.size;
        const Around around = of.around(sample);
        const PixelMap& map = of.level(sample).map;
        double down = 0;
        double right = 0;
        double weight = 0;
        for (int64_t i = 0; i < of.size; ++i) {
            const double* plane = of.value + of.plane(first + i, sample);
            const double grad_out = gradient[row * of.size + i];
            down += grad_out * around.slope_down(plane);
            right += grad_out * around.slope_right(plane);
            weight += grad_out * around.value(plane);
        }
        of_positions[2 * sample] += of.weight[sample] * right * static_cast<double>(map.width);
        of_positions[2 * sample + 1] += of.weight[sample] * down * static_cast<double>(map.height);
        of_weight[sample] += weight;
    }
};

// The operands of both directions, with the levels where kernels reach them.
template <typename Args>
class DeformAttention {
  public:
    explicit DeformAttention(const Args& args)
        : value_(args.value), positions_(args.sampling_loc), weight_(args.attn_weight), args_(args) {
        constexpr const char* kLevels = "C2: the maps lie one after the other and fill value";
        const std::vector<double> sizes = numbers_of(args.spatial_shapes);
        const std::vector<double> starts = numbers_of(args.level_start_index);
        const int64_t stride = args.value.shape[2] * args.value.shape[3];
        double pixels = 0;
        std::vector<Level> levels;
        for (size_t i = 0; i < starts.size(); ++i) {
            const double height = sizes[2 * i];
            const double width = sizes[2 * i + 1];
            require(height >= 0 && width >= 0 && starts[i] == pixels, kLevels);
            pixels += height * width;
            require(pixels <= static_cast<double>(args.value.shape[1]), kLevels);
            const bool is_empty = height == 0 || width == 0;
            levels.push_back(
                {static_cast<int64_t>(starts[i]),
                 {is_empty ? 0 : static_cast<int64_t>(height), is_empty ? 0 : static_cast<int64_t>(width), stride}});
        }
        require(pixels == static_cast<double>(args.value.shape[1]), kLevels);
        levels_ = list_for_kernels(levels);
    }

    Samples samples() const {
        const int64_t* shape = args_.sampling_loc.shape;
        return {value_.data(),
                positions_.data(),
                weight_.data(),
                static_cast<const Level*>(levels_.data()),
                args_.value.shape[1],
                shape[1],
                args_.value.shape[2],
                args_.value.shape[3],
                shape[3],
                shape[4]};
    }

  private:
    Input<double> value_;
    Input<double> positions_;
    Input<double> weight_;
    Buffer levels_;
    const Args& args_;
};

template <typename Each>
void deform_attention(const Each& each, const entry::MsDeformAttnMmcvArgs& args) {
    const DeformAttention<entry::MsDeformAttnMmcvArgs> attention(args);
    const int64_t* shape = args.value.shape;
    const Tensor out = new_tensor(args.ctx, "out", {shape[0], args.sampling_loc.shape[1], shape[2] * shape[3]},
                                  args.value.dtype, args.value);
    const Output<double> to(out);
    const Samples samples = attention.samples();
    each.rows(shape[0] * samples.queries * samples.heads, row_blocks(samples.size),
              16 * kRowBlock * samples.per_query(), SumSamples{to.data(), samples});
    to.store();
    *args.out = out.handle;
}

template <typename Each>
void deform_attention_backward(const Each& each, const entry::MsDeformAttnBackwardMmcvArgs& args) {
    require_separate({&args.grad_value, &args.grad_sampling_loc, &args.grad_attn_weight},
                     {&args.value, &args.spatial_shapes, &args.level_start_index, &args.sampling_loc, &args.attn_weight,
                      &args.grad_output});
    const DeformAttention<entry::MsDeformAttnBackwardMmcvArgs> attention(args);
    const Samples samples = attention.samples();
    const Input<double> gradient(args.grad_output);
    const Sums of_value(args.grad_value);
    const Sums of_positions(args.grad_sampling_loc);
    const Sums of_weight(args.grad_attn_weight);
    each(args.value.shape[0] * samples.heads * samples.size, 16 * samples.queries * samples.per_query(),
         AddValueGradients{of_value.data(), gradient.data(), samples});
    each(args.attn_weight.numel, 32 * samples.size,
         AddSampleGradients{of_positions.data(), of_weight.data(), gradient.data(), samples});
    of_value.store();
    of_positions.store();
    of_weight.store();
}

// ---- Windows around chosen positions of one image, [channels, height, width]. ----

struct ImagePositions {
    const Int64* rows;
    const Int64* columns;
    int64_t count;
    int64_t height;  // of the image
    int64_t width;
};

// An owner for each element of the columns, [channels, rows and columns of the window, positions].
template <typename W>
struct ReadWindows {
    W* to;
    const W* from;
    ImagePositions by;
    int64_t window_height;
    int64_t window_width;
    int64_t pad_h;
    int64_t pad_w;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t position = at % by.count;
        const int64_t element = at / by.count;
        const int64_t row = inside(by.rows[position].value, element / window_width % window_height - pad_h, by.height);
        const int64_t column = inside(by.columns[position].value, element % window_width - pad_w, by.width);
        const int64_t channel = element / (window_height * window_width);
        to[at] = row < 0 || column < 0 ? W{} : from[(channel * by.height + row) * by.width + column];
    }

  private:
    // The sum, -1 where it is not in [0, size). It does not overflow, whatever the position.
    DIOPI_HOST_DEVICE static int64_t inside(int64_t position, int64_t distance, int64_t size) {
        return position >= -distance && position < size - distance ? position + distance : -1;
    }
};

template <typename Each>
void read_windows(const Each& each, const entry::MaskedIm2colMmcvArgs& args) {
    require_apart(args.col, {&args.im, &args.mask_h_idx, &args.mask_w_idx});
    const Input<Int64> rows(args.mask_h_idx);
    const Input<Int64> columns(args.mask_w_idx);
    const ImagePositions by{rows.data(), columns.data(), args.mask_h_idx.numel, args.im.shape[2], args.im.shape[3]};
    dispatch_word(args.im.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(args.im);
        const RawOutput to(args.col);
        each(args.col.numel, 8,
             ReadWindows<W>{to.as<W>(), from.as<W>(), by, args.kernel_h, args.kernel_w, args.pad_h, args.pad_w});
        to.store();
    });
}

// An owner for each element of the columns, [channels, positions].
template <typename W>
struct WritePositions {
    W* to;
    const W* from;
    ImagePositions by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t position = at % by.count;
        to[(at / by.count * by.height + by.rows[position].value) * by.width + by.columns[position].value] = from[at];
    }
};

template <typename Each>
void write_positions(const Each& each, const entry::MaskedCol2imMmcvArgs& args) {
    require_apart(args.im, {&args.col, &args.mask_h_idx, &args.mask_w_idx});
    const Positions rows(args.mask_h_idx, args.height);
    const Positions columns(args.mask_w_idx, args.width);
    const ImagePositions by{rows.data(), columns.data(), rows.count(), args.height, args.width};
    dispatch_word(args.col.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(args.col);
        const Changed to(args.im, args.im.dtype);
        each(args.col.numel, 8, WritePositions<W>{to.as<W>(), from.as<W>(), by});
        to.store();
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_ATTENTION_H_
