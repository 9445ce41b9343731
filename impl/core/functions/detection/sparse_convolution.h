// Sparse convolution and pooling along pairs of rows (SECOND, Yan et al., 2018), and rotated copies of filters, for the
// libraries of all devices. `Each` is how a library calls an object for all owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_SPARSE_CONVOLUTION_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_SPARSE_CONVOLUTION_H_

#include <algorithm>
#include <numeric>
#include <vector>

#include "detection.h"
#include "detection/numbers.h"
#include "detection/row_blocks.h"
#include "diopi_core/clones.h"
#include "diopi_core/kernel_checks.h"

namespace diopigen::core {

// ---- Pairs of an input row and an output row at a position in the window. ----

struct Pair {
    int64_t position;
    int64_t input;
    int64_t output;
};

// Pairs in lists, each for one owner.
struct PairsOf {
    const int64_t* first;  // of each owner, and one behind the last
    const Pair* pairs;
};

// All pairs that count, by position in the window and in their order.
class RowPairs {
  public:
    // `message` is for pairs that are not in the rows. With `is_inverse` the second rows of the pairs are the input's.
    RowPairs(const Tensor& pairs, const Tensor& counts, int64_t inputs, int64_t outputs, bool is_inverse,
             const char* message);

    const PairsOf& by_position() {
        return by(positions_, by_position_, [](const Pair& pair) { return pair.position; });
    }
    const PairsOf& by_input() {
        return by(inputs_, by_input_, [](const Pair& pair) { return pair.input; });
    }
    const PairsOf& by_output() {
        return by(outputs_, by_output_, [](const Pair& pair) { return pair.output; });
    }
    // How many pairs an owner of so many has, on average.
    int64_t per_owner(int64_t owners) const { return static_cast<int64_t>(pairs_.size()) / (owners + 1) + 1; }

  private:
    struct Lists {
        Buffer first;
        Buffer pairs;
        PairsOf lists{nullptr, nullptr};
    };
    const PairsOf& by(int64_t owners, Lists& lists, int64_t (*owner)(const Pair&));

    std::vector<Pair> pairs_;
    int64_t positions_;
    int64_t inputs_;
    int64_t outputs_;
    Lists by_position_;
    Lists by_input_;
    Lists by_output_;
};

// ---- Pooling: rows of channels. ----

// An owner for each result. The search begins at 0; NaN is above nothing.
struct PoolRows {
    double* to;
    const double* from;
    PairsOf by_output;
    int64_t channels;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t row = at / channels;
        double largest = 0;
        for (int64_t i = by_output.first[row]; i < by_output.first[row + 1]; ++i) {
            const double value = from[by_output.pairs[i].input * channels + at % channels];
            largest = value > largest ? value : largest;
        }
        to[at] = largest;
    }
};

// An owner for each element of the features.
struct PoolRowsGradient {
    double* to;
    const double* from;
    const double* maxima;
    const double* gradient;
    PairsOf by_input;
    int64_t channels;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t row = at / channels;
        double sum = 0;
        for (int64_t i = by_input.first[row]; i < by_input.first[row + 1]; ++i) {
            const int64_t result = by_input.pairs[i].output * channels + at % channels;
            sum += from[at] == maxima[result] ? gradient[result] : 0;
        }
        to[at] = sum;
    }
};

template <typename Each>
void pool_rows(const Each& each, const entry::IndiceMaxpoolMmcvArgs& args) {
    const int64_t channels = args.features.shape[1];
    RowPairs pairs(args.indicePairs, args.indiceNum, args.features.shape[0], args.numAct, false,
                   "C2: indiceNum is at most P, and the pairs that count are in the N and numAct rows");
    const Tensor out = new_tensor(args.ctx, "out", {args.numAct, channels}, args.features.dtype, args.features);
    const Input<double> from(args.features);
    const Output<double> to(out);
    each(out.numel, pairs.per_owner(args.numAct), PoolRows{to.data(), from.data(), pairs.by_output(), channels});
    to.store();
    *args.out = out.handle;
}

template <typename Each>
void pool_rows_backward(const Each& each, const entry::IndiceMaxpoolBackwardMmcvArgs& args) {
    const int64_t rows = args.features.shape[0];
    RowPairs pairs(args.indicePairs, args.indiceNum, rows, args.outFeatures.shape[0], false,
                   "C1: indiceNum is at most P, and the pairs that count are in the N and M rows");
    const Tensor out = new_tensor(args.ctx, "out", shape_of(args.features), args.features.dtype, args.features);
    const Input<double> from(args.features);
    const Input<double> maxima(args.outFeatures);
    const Input<double> gradient(args.outGrad);
    const Output<double> to(out);
    each(out.numel, pairs.per_owner(rows),
         PoolRowsGradient{to.data(), from.data(), maxima.data(), gradient.data(), pairs.by_input(),
                          args.features.shape[1]});
    to.store();
    *args.out = out.handle;
}

// ---- Convolution: filters [positions, input channels, output channels]. ----

// Filters from channels of the rows that are read to those of the rows that are written.
struct SparseFilters {
    const double* filters;  // [positions, read, written]
    int64_t read;
    int64_t written;

    DIOPI_HOST_DEVICE const double* from(int64_t position, int64_t channel_read) const {
        return filters + (position * read + channel_read) * written;
    }
};

// An owner for each block of elements of the rows that are written.
struct ConvolveRows {
    double* to;
    const double* from;
    const double* bias;  // null for none
    SparseFilters filters;
    PairsOf pairs_of;    // the rows that are written
    bool reads_outputs;  // and of each pair the row of the result is read, not that of the features

    DIOPI_HOST_DEVICE RowOfBlocks<ConvolveRows> row(int64_t k) const { return {*this, k, filters.written}; }

    template <int64_t kCount>
    DIOPI_HOST_DEVICE void write(int64_t row, int64_t begin) const {
        double sums[kCount];
        for (int64_t c = 0; c < kCount; ++c) {
            sums[c] = bias == nullptr ? 0 : bias[begin + c];
        }
        for (int64_t i = pairs_of.first[row]; i < pairs_of.first[row + 1]; ++i) {
            const Pair& pair = pairs_of.pairs[i];
            const double* const read = from + (reads_outputs ? pair.output : pair.input) * filters.read;
            for (int64_t k = 0; k < filters.read; ++k) {
                const double* const factors = filters.from(pair.position, k) + begin;
                DIOPI_CPU_UNROLLED
                for (int64_t part = 0; part < kCount; part += kRowPart<kCount>) {
                    DIOPI_CPU_ROLLED
                    for (int64_t c = part; c < part + kRowPart<kCount>; ++c) {
                        sums[c] += read[k] * factors[c];
                    }
                }
            }
        }
        for (int64_t c = 0; c < kCount; ++c) {
            to[row * filters.written + begin + c] = sums[c];
        }
    }
};

// An owner for each element of the filters.
struct SparseFilterGradient {
    double* to;
    const double* from;
    const double* gradient;
    int64_t inputs;
    int64_t outputs;
    PairsOf by_position;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t output = at % outputs;
        const int64_t input = at / outputs % inputs;
        const int64_t position = at / (outputs * inputs);
        double sum = 0;
        for (int64_t i = by_position.first[position]; i < by_position.first[position + 1]; ++i) {
            const Pair& pair = by_position.pairs[i];
            sum += from[pair.input * inputs + input] * gradient[pair.output * outputs + output];
        }
        to[at] = sum;
    }
};

// A null bias is none.
template <typename Each, typename Args>
void convolve_rows(const Each& each, const Args& args, const Tensor& bias) {
    const int64_t inputs = args.features.shape[1];
    const int64_t outputs = args.filters.shape[args.filters.rank - 1];
    RowPairs pairs(args.indicePairs, args.indiceNum, args.features.shape[0], args.numActOut, args._inverse != 0,
                   "C3: indiceNum is at most P, and the pairs that count are in the rows of features and out");
    const Tensor out = new_tensor(args.ctx, "out", {args.numActOut, outputs}, args.features.dtype, args.features);
    const Input<double> from(args.features);
    const Input<double> filters(args.filters);
    const Input<double> summands(bias);
    const Output<double> to(out);
    const SparseFilters by_column{filters.data(), inputs, outputs};
    const ConvolveRows body{to.data(), from.data(), summands.data(), by_column, pairs.by_output(), false};
    each.rows(args.numActOut, row_blocks(outputs), kRowBlock * inputs * pairs.per_owner(args.numActOut), body);
    to.store();
    *args.out = out.handle;
}

template <typename Each>
void convolve_rows_backward(const Each& each, const entry::IndiceConvBackwardMmcvArgs& args) {
    const int64_t rows = args.features.shape[0];
    RowPairs pairs(args.indicePairs, args.indiceNum, rows, args.outGrad.shape[0], args._inverse != 0,
                   "C2: indiceNum is at most P, and the pairs that count are in the rows of features and outGrad");
    const Tensor of_features =
        new_tensor(args.ctx, "outlist", shape_of(args.features), args.features.dtype, args.features);
    const Tensor of_filters =
        new_tensor(args.ctx, "outlist", shape_of(args.filters), args.features.dtype, args.features);
    std::vector<int64_t> dims(static_cast<size_t>(args.filters.rank));
    std::iota(dims.begin(), dims.end(), 0);
    std::iter_swap(dims.end() - 1, dims.end() - 2);
    const View transposed = permuted(args.filters, dims);
    const Input<double> from(args.features);
    const Input<double> weights(transposed.tensor());
    const Input<double> gradient(args.outGrad);
    const int64_t inputs = args.features.shape[1];
    const int64_t outputs = args.outGrad.shape[1];
    const Output<double> to_features(of_features);
    const Output<double> to_filters(of_filters);
    const SparseFilters by_row{weights.data(), outputs, inputs};
    const ConvolveRows body{to_features.data(), gradient.data(), nullptr, by_row, pairs.by_input(), true};
    each.rows(rows, row_blocks(inputs), kRowBlock * outputs * pairs.per_owner(rows), body);
    each(of_filters.numel, pairs.per_owner(args.indiceNum.numel),
         SparseFilterGradient{to_filters.data(), from.data(), gradient.data(), inputs, outputs, pairs.by_position()});
    to_features.store();
    to_filters.store();
    args.outlist[0] = of_features.handle;
    args.outlist[1] = of_filters.handle;
}

// ---- Rotated copies of filters: elements of a filter [orientations, height, width] and their rotations. ----

// The position of each element in each rotation, [elements, rotations], counted from 0. A permutation for each
// rotation, or the call is rejected.
std::vector<int64_t> rotated_positions(const Tensor& indices);

// An owner for each element and rotation: of filters [outputs, inputs, elements].
template <typename W>
struct RotateFilters {
    W* to;
    const W* from;
    const int64_t* positions;
    int64_t inputs;
    int64_t elements;
    int64_t rotations;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t rotation = at % rotations;
        const int64_t filter = at / rotations;
        const int64_t input = filter / elements % inputs;
        const int64_t output = filter / (elements * inputs);
        const int64_t position = positions[filter % elements * rotations + rotation];
        to[((output * rotations + rotation) * inputs + input) * elements + position] = from[filter];
    }
};

// An owner for each element of the filters.
struct RotateFiltersGradient {
    double* to;
    const double* gradient;
    const int64_t* positions;
    int64_t inputs;
    int64_t elements;
    int64_t rotations;

    DIOPI_HOST_DEVICE void operator()(int64_t filter) const {
        const int64_t input = filter / elements % inputs;
        const int64_t output = filter / (elements * inputs);
        double sum = 0;
        for (int64_t rotation = 0; rotation < rotations; ++rotation) {
            const int64_t position = positions[filter % elements * rotations + rotation];
            sum += gradient[((output * rotations + rotation) * inputs + input) * elements + position];
        }
        to[filter] = sum;
    }
};

template <typename Each>
void rotate_filters(const Each& each, const entry::ActiveRotatedFilterMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.indices});
    const Buffer positions = list_for_kernels(rotated_positions(args.indices));
    const int64_t rotations = args.indices.shape[3];
    dispatch_word(args.input.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(args.input);
        const RawOutput to(args.output);
        each(args.output.numel, 4,
             RotateFilters<W>{to.as<W>(), from.as<W>(), static_cast<const int64_t*>(positions.data()),
                              args.input.shape[1], rotations > 0 ? args.indices.numel / rotations : 0, rotations});
        to.store();
    });
}

template <typename Each>
void rotate_filters_backward(const Each& each, const entry::ActiveRotatedFilterBackwardMmcvArgs& args) {
    require_apart(args.grad_in, {&args.grad_out, &args.indices});
    const Buffer positions = list_for_kernels(rotated_positions(args.indices));
    const int64_t rotations = args.indices.shape[3];
    const Input<double> gradient(args.grad_out);
    const Output<double> to(args.grad_in);
    each(args.grad_in.numel, rotations,
         RotateFiltersGradient{to.data(), gradient.data(), static_cast<const int64_t*>(positions.data()),
                               args.grad_in.shape[1], args.indices.numel / rotations, rotations});
    to.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_SPARSE_CONVOLUTION_H_
