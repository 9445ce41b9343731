// Operators of droplet that move elements about.
#include <diopigen_kernels/operators.h>

#include <stdexcept>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

// From a float to integers only the reference knows what becomes of those that do not fit.
bool isSafe(diopiDtype_t to, diopiDtype_t from) { return isFloat(to) || to == diopi_dtype_bool || !isFloat(from); }
diopiError_t diopiCastDtype(Context ctx, Out out, In input) {
    const Call call(ctx, "diopiCastDtype", {out}, {input});
    const bool isPlain = isSafe(call.dtype(0), call.dtype(1)) && call.haveShape({0}, call.shape(1));
    return isPlain ? run(call, [](const Kernel& k) { convert(k, 0, 1); }) : leave(call);
}
diopiError_t diopiCopyInp(Context ctx, In src, Out dest) {
    const Call call(ctx, "diopiCopyInp", {dest}, {src});
    Shape joined = call.shape(0);
    const bool isPlain = isSafe(call.dtype(0), call.dtype(1)) && broadcast(&joined, call.shape(1));
    return isPlain && joined == call.shape(0) ? run(call, [](const Kernel& k) { convert(k, 0, 1); }) : leave(call);
}

diopiError_t diopiTril(Context ctx, Out out, In input, int64_t diagonal) {
    const Call call(ctx, "diopiTril", {out}, {input});
    const Shape shape = call.shape(0);
    const bool isPlain = shape.size() >= 2 && call.haveShape({1}, shape) && call.haveDtype({1}, call.dtype(0));
    return !isPlain ? leave(call)
                    : run(call, [=, rows = shape[shape.size() - 2], columns = shape.back()](const Kernel& k) {
                          withValues(k.buffer(0).dtype, [&](auto zero) {
                              const Input<decltype(zero)> from(k, 1, shape);
                              Output<decltype(zero)> to(k, 0, shape);
                              for (int64_t i = 0; i < product(shape); ++i) {
                                  to.data()[i] = i % columns - i / columns % rows > diagonal ? zero : from.data()[i];
                              }
                              to.finish();
                          });
                      });
}

diopiError_t diopiCat(Context ctx, Out out, In* tensors, int64_t num_inputs, int64_t dim) {
    return answer(operators::cat(diopigen::sim::launchAtOnceIfSmall, ctx, out, tensors, num_inputs, dim));
}

// `visit(place, row)` for each row of a table that the indices name, but for the row `left`.
template <typename Visit>
void lookUp(const Values& indices, int64_t rows, int64_t left, Visit visit) {
    for (size_t i = 0; i < indices.size(); ++i) {
        const auto row = static_cast<int64_t>(indices[i]);
        if (row == left) {
            continue;
        }
        if (row < 0 || row >= rows) {
            throw std::out_of_range("an index is outside the table");
        }
        visit(i, static_cast<size_t>(row));
    }
}
diopiError_t diopiEmbedding(Context ctx, Out out, In weight, In indices, int64_t padding_idx, bool scale_grad_byfreq,
                            bool sparse) {
    return answer(operators::embedding(diopigen::sim::launchAtOnceIfSmall, ctx, out, weight, indices, padding_idx,
                                       scale_grad_byfreq, sparse));
}
// Whether tensor 1 has a row of tensor 0 for each of the indices, which are operand 2.
bool isLookUp(const Call& call) {
    Shape shape = call.shape(2);
    shape.push_back(call.rank(0) == 2 ? call.shape(0)[1] : 0);
    return shape.back() > 0 && call.haveShape({1}, shape) && call.haveDtype({1}, call.dtype(0)) &&
           isFloat(call.dtype(0)) && call.haveDtype({2}, diopi_dtype_int32);
}
diopiError_t diopiEmbeddingBackward(Context ctx, Out out, In grad, In indices, int64_t num_weights, int64_t padding_idx,
                                    bool scale_grad_byfreq, bool /*sparse*/) {
    const Call call(ctx, "diopiEmbeddingBackward", {out}, {grad, indices});
    if (scale_grad_byfreq || !isLookUp(call) || call.shape(0)[0] != num_weights) {
        return leave(call);
    }
    return run(call, [=, width = call.shape(0)[1]](const Kernel& k) {
        const Values g = load(k, 1);
        Values sums(static_cast<size_t>(num_weights * width));
        lookUp(load(k, 2), num_weights, std::max<int64_t>(padding_idx, -1), [&](size_t i, size_t row) {
            for (int64_t column = 0; column < width; ++column) {
                sums[row * width + column] += g[i * width + column];
            }
        });
        store(k, 0, sums);
    });
}

// Operands: 2 scores [N, C], 3 a class of each sample, 4 weights of classes; `numbers` have no dimensions.
bool isClassification(const Call& call, Positions numbers, diopiReduction_t reduction) {
    return call.rank(2) == 2 && call.haveShape({3}, {call.shape(2)[0]}) && call.haveShape({4}, {call.shape(2)[1]}) &&
           call.haveShape(numbers, {}) && call.haveDtype({1, 2, 4}, call.dtype(0)) && isFloat(call.dtype(0)) &&
           call.haveDtype({3}, diopi_dtype_int32) && reduction != ReductionNone;
}
diopiError_t diopiNLLLossV2(Context ctx, Out out, Out totalWeight, In input, In target, In weight,
                            diopiReduction_t reduction, int64_t ignore_index) {
    const Call call(ctx, "diopiNLLLossV2", {out, totalWeight}, {input, target, weight}, {4});
    const bool isPlain = isClassification(call, {0, 1}, reduction);
    return !isPlain ? leave(call) : run(call, [=, classes = call.shape(2)[1]](const Kernel& k) {
        const Values scores = load(k, 2), weights = loadOr(k, 4, classes, 1);
        double sum = 0, total = 0;
        lookUp(load(k, 3), classes, ignore_index, [&](size_t sample, size_t at) {
            sum -= weights[at] * scores[sample * classes + at];
            total += weights[at];
        });
        store(k, 0, {reduction == ReductionMean ? sum / total : sum});
        store(k, 1, {total});
    });
}
diopiError_t diopiNLLLossV2Backward(Context ctx, Out grad_input, In grad_output, In input, In target, In weight,
                                    In totalWeight, diopiReduction_t reduction, int64_t ignore_index) {
    const Call call(ctx, "diopiNLLLossV2Backward", {grad_input}, {grad_output, input, target, weight, totalWeight},
                    {4});
    const Shape shape = call.shape(2);
    const bool isPlain = isClassification(call, {1, 5}, reduction) && call.haveShape({0}, shape);
    return !isPlain ? leave(call) : run(call, [=](const Kernel& k) {
        const Values weights = loadOr(k, 4, shape[1], 1);
        const double each = load(k, 1)[0] / (reduction == ReductionMean ? load(k, 5)[0] : 1);
        Values grad(static_cast<size_t>(product(shape)));
        lookUp(load(k, 3), shape[1], ignore_index,
               [&](size_t sample, size_t at) { grad[sample * shape[1] + at] = -weights[at] * each; });
        store(k, 0, grad);
    });
}

}  // namespace droplet
}  // namespace impl
