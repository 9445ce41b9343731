// Attention backward: by blocks whose products are those of matrices, or query by query and key by key (runs.h).
#include <cmath>
#include <string>

#include "block_gradients.h"
#include "diopi_cuda/to_device.h"
#include "flagged_rows.h"
#include "gradient_rows.h"
#include "passes.h"

namespace diopigen::cuda {

namespace {

// Rows with a flag again.
template <typename P>
void recompute(const Block& all, const DeviceProblem& problem, const Scoring& scoring, const GradientInputs<P>& inputs,
               const uint8_t* query_flags, const uint8_t* key_flags, const Gradients<P>& gradients) {
    for_flagged(all.rows(), query_flags, tile_bytes<float>(problem.size, 1),
                [=] DIOPI_KERNEL(Group & group, int64_t row) {
                    const RowIndex row_index = all.index_of(row);
                    query_gradient(group, problem, scoring, inputs, row_index.own, row_index.sequence, row_index.head,
                                   row_index.query, gradients.q);
                });
    for_flagged(all.run.count * all.kv_heads * all.run.first.keys, key_flags, tile_bytes<float>(problem.size, 2),
                [=] DIOPI_KERNEL(Group & group, int64_t row) {
                    const KeyIndex row_index = key_index(all, static_cast<uint32_t>(row));
                    key_gradient(group, problem, scoring, inputs, row_index.own, row_index.sequence, row_index.kv_head,
                                 row_index.key, gradients.k, gradients.v);
                });
}

// What is common to all blocks of a call.
template <typename P>
struct Call {
    const Problem& problem;
    const Scoring& scoring;
    const Arrays& arrays;
    const Tensor& grad_out;
    const GradientInputs<P>& inputs;
    const int64_t* largest;  // of grad_output and of the values
    float factor;            // see Lift
    const Gradients<P>& gradients;
};

template <typename P, bool kPlain>
void solve(const Call<P>& call, const Pass& pass, const Cut& cut, float* scores, float* slopes) {
    constexpr int64_t kParts = Parts<P>::kCount;
    constexpr int64_t kFloat = sizeof(float);
    const Problem& problem = call.problem;
    const Scoring& scoring = call.scoring;
    const DeviceProblem layout = without_sequences(problem);
    const Sequence& own = pass.run.first;
    const Block all = block_of(problem, scoring, pass, 0, own.queries);
    const int64_t pairs = pass.run.count * pass.heads;
    const int64_t size = problem.size;
    const int64_t rows = own.queries * problem.group();
    const Stack queries = read(call.arrays.q, query_rows(problem, pass));
    const Stack grad_rows = read(call.grad_out, query_rows(problem, pass));
    const Stack keys = read(call.arrays.k, key_rows(problem, pass));
    const Stack values = read(call.arrays.v, key_rows(problem, pass));
    const Stack key_parts = read(call.arrays.k, key_rows(problem, pass, kParts));
    const Buffer query_sums = cleared(pairs * rows * size * kFloat);
    const Buffer key_sums = cleared(pairs * own.keys * kParts * size * kFloat);
    const Buffer value_sums = cleared(pairs * own.keys * kParts * size * kFloat);
    const Buffer query_flags = cleared(pairs * rows);
    const Buffer key_flags = cleared(pairs * own.keys);
    const auto sums_of = [&](const Buffer& sums, int64_t of_pair, int64_t first, int64_t count) {
        return View(array_like(call.arrays.q, sums.data(), Dtype::kFloat32), {pairs, count, size},
                    {of_pair * size, size, 1}, first * size);
    };
    for (int64_t first = 0; first < own.queries; first += cut.queries) {
        const Block block = block_of(problem, scoring, pass, first, cut.queries);
        if (block.width == 0) {
            continue;
        }
        const int64_t from = first * problem.group();
        const int64_t count = block.queries * problem.group();
        const int64_t first_part = kParts * block.first_key;
        const int64_t part_count = kParts * block.width;
        const Tensor products = array_like(call.arrays.q, scores, Dtype::kFloat32);
        const Tensor to_probabilities = array_like(call.arrays.q, slopes, Dtype::kFloat32);
        const Tensor probabilities = array_like(call.arrays.q, scores, dtype_of<P>);
        const Tensor to_scores = array_like(call.arrays.q, slopes, dtype_of<P>);
        multiply(matrices(products, block), queries.rows(from, count), keys.columns(block.first_key, block.width));
        multiply(matrices(to_probabilities, block), grad_rows.rows(from, count),
                 values.columns(block.first_key, block.width));
        to_gradients<P, kPlain>(block, layout, scoring, call.inputs, call.largest, call.factor, scores, slopes);
        multiply(sums_of(value_sums, kParts * own.keys, first_part, part_count),
                 transposed_matrices(probabilities, block, kParts), grad_rows.rows(from, count), true);
        multiply(sums_of(key_sums, kParts * own.keys, first_part, part_count),
                 transposed_matrices(to_scores, block, kParts), queries.rows(from, count), true);
        multiply(sums_of(query_sums, rows, from, count), matrices(to_scores, block, kParts),
                 key_parts.rows(first_part, part_count));
    }
    auto* const marked_queries = static_cast<uint8_t*>(query_flags.data());
    auto* const marked_keys = static_cast<uint8_t*>(key_flags.data());
    store_queries<P>(all, layout, call.inputs, call.largest, call.factor, static_cast<const float*>(query_sums.data()),
                     marked_queries, call.gradients.q);
    store_keys<P>(all, layout, call.largest, call.factor, static_cast<const float*>(key_sums.data()),
                  static_cast<const float*>(value_sums.data()), marked_keys, call.gradients.k, call.gradients.v);
    recompute<P>(all, layout, scoring, call.inputs, marked_queries, marked_keys, call.gradients);
}

template <typename P>
void solve_by_blocks(const Call<P>& call) {
    for (const Run& run : runs_of(call.problem)) {
        const Cut cut = cut_of(call.problem, call.scoring, run, 2 * sizeof(float));
        Buffer scores;
        Buffer slopes;
        scores.allocate(cut.scores * static_cast<int64_t>(sizeof(float)));
        slopes.allocate(cut.scores * static_cast<int64_t>(sizeof(float)));
        auto* const first = static_cast<float*>(scores.data());
        auto* const second = static_cast<float*>(slopes.data());
        for (const Pass& pass : passes_of(call.problem, run, cut)) {
            if (is_plain(call.scoring)) {
                solve<P, true>(call, pass, cut, first, second);
            } else {
                solve<P, false>(call, pass, cut, first, second);
            }
        }
    }
}

template <typename P>
void solve_one_by_one(const Call<P>& call) {
    const ProblemOnDevice on_device(call.problem);
    const DeviceProblem problem = on_device.problem();
    const RowGradients<P> rows{problem, call.scoring, call.inputs, call.gradients};
    for_groups(problem.queries * problem.heads, kTile, rows.query_bytes(), QueryGradient<P>{rows});
    for_groups(problem.keys * problem.kv_heads, kTile, rows.key_bytes(), KeyGradient<P>{rows});
}

template <typename P>
void solve_as(const Problem& problem, const Scoring& scoring, const attention::Operands& operands,
              const attention::GradientTensors& tensors, const StatisticsIndex& row_index, const float* shifts,
              const float* sums) {
    const GradientArrays dense(operands, tensors);
    const Arrays arrays{array_of(operands.q, dense.q), array_of(operands.k, dense.k), array_of(operands.v, dense.v)};
    const Tensor grad_rows = array_of(tensors.grad_out, dense.grad_out);
    const GradientInputs<P> inputs = dense.inputs<P>(row_index, shifts, sums);
    const Gradients<P> gradients = dense.gradients<P>();
    const Buffer largest = cleared(2 * sizeof(int64_t));
    auto* const found = static_cast<int64_t*>(largest.data());
    // Both terms of a score's gradient are sums of `size` products.
    const double factor = 2 * std::abs(scoring.scale) * static_cast<double>(problem.size) * scoring.dropout.factor();
    const Call<P> call{problem, scoring, arrays, grad_rows, inputs, found, static_cast<float>(factor), gradients};
    if (!goes_by_blocks(problem)) {
        solve_one_by_one(call);
    } else {
        if constexpr (dtype_of<P> == Dtype::kFloat16) {
            find_largest(inputs.grad_out, tensors.grad_out.numel, found);
            find_largest(inputs.v, operands.v.numel, found + 1);
        }
        solve_by_blocks(call);
    }
    dense.store();
}

}  // namespace

void attend_backward(const Problem& problem, const Scoring& scoring, const attention::Operands& operands,
                     const attention::GradientTensors& tensors, const StatisticsIndex& row_index, const float* shifts,
                     const float* sums) {
    switch (operands.q.dtype) {
        case Dtype::kFloat16:
            return solve_as<Half>(problem, scoring, operands, tensors, row_index, shifts, sums);
        case Dtype::kBfloat16:
            return solve_as<Bfloat16>(problem, scoring, operands, tensors, row_index, shifts, sums);
        case Dtype::kFloat32:
            return solve_as<float>(problem, scoring, operands, tensors, row_index, shifts, sums);
        default:
            fail(std::string("gradients of attention are not defined for ") + name_of(operands.q.dtype),
                 diopiDtypeNotSupported);
    }
}

}  // namespace diopigen::cuda
