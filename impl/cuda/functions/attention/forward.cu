// Attention forward: by blocks whose products are those of matrices, or query by query (runs.h).
#include <algorithm>
#include <string>

#include "block_kernels.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/to_device.h"
#include "flagged_rows.h"
#include "passes.h"

namespace diopigen::cuda {

namespace {

// The sums of weighted values, divided by those of the weights: [rows, size] to the rows of the queries. Rows that
// are not finite although their weights are get a flag.
template <typename S, typename P, int kWidth>
void divide(const Block& all, const DeviceProblem& problem, S factor, const S* sums, const S* totals, uint8_t* flags,
            P* out) {
    struct alignas(kWidth * sizeof(S)) From {
        S at[kWidth];
    };
    struct alignas(kWidth * sizeof(P)) To {
        P at[kWidth];
    };
    const auto vectors = static_cast<uint32_t>(problem.size / kWidth);
    for_each(all.rows() * vectors, [=] DIOPI_KERNEL(int64_t at) {
        const uint32_t row = static_cast<uint32_t>(at) / vectors;
        const uint32_t d = (static_cast<uint32_t>(at) - row * vectors) * kWidth;
        const RowIndex row_index = all.index_of(row);
        const S total = totals[row];
        const From from = *reinterpret_cast<const From*>(sums + row * problem.size + d);
        To to;
        DIOPI_UNROLL
        for (int e = 0; e < kWidth; ++e) {
            to.at[e] = P(total == 0 ? S(0) : from.at[e] * (factor / total));
            if (total > 0 && !(from.at[e] - from.at[e] == 0)) {
                flags[row] = 1;
            }
        }
        *reinterpret_cast<To*>(out + problem.query_at(row_index.own, row_index.head, row_index.query) + d) = to;
    });
}

// Rows with a flag again.
template <typename S, typename P>
void recompute(const Block& all, const DeviceProblem& problem, const Scoring& scoring, const Arrays& arrays,
               const uint8_t* flags, P* out) {
    const P* const q = elements<P>(arrays.q);
    const P* const k = elements<P>(arrays.k);
    const P* const v = elements<P>(arrays.v);
    for_flagged(all.rows(), flags, tile_bytes<S>(problem.size, 1), [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const RowIndex row_index = all.index_of(row);
        attend_one<S, P>(group, problem, scoring, row_index.own, row_index.sequence, row_index.head, row_index.query, q,
                         k, v, out, Record<S>{});
    });
}

template <typename S, typename P, bool kPlain>
void attend_by_blocks(const Problem& problem, const Scoring& scoring, const Arrays& arrays, P* out,
                      const Record<S>& record) {
    constexpr int64_t kParts = Parts<P>::kCount;
    const DeviceProblem layout = without_sequences(problem);
    const auto factor = static_cast<S>(scoring.dropout.factor());
    for (const Run& run : runs_of(problem)) {
        const Cut cut = cut_of(problem, scoring, run, sizeof(S));
        Buffer scores;
        scores.allocate(cut.scores * static_cast<int64_t>(sizeof(S)));
        for (const Pass& pass : passes_of(problem, run, cut)) {
            const Block all = block_of(problem, scoring, pass, 0, run.first.queries);
            const int64_t rows = run.first.queries * problem.group();
            const Stack queries = read(arrays.q, query_rows(problem, pass));
            const Stack keys = read(arrays.k, key_rows(problem, pass));
            const Stack values = read(arrays.v, key_rows(problem, pass, kParts));
            Buffer totals;
            Buffer sums;
            Buffer flags;
            totals.allocate(all.rows() * static_cast<int64_t>(sizeof(S)));
            sums.allocate(all.rows() * problem.size * static_cast<int64_t>(sizeof(S)));
            flags.allocate(all.rows());
            clear(flags.data(), static_cast<size_t>(all.rows()));
            const Tensor sum_array = array_like(arrays.q, sums.data(), dtype_of<S>);
            for (int64_t first = 0; first < run.first.queries; first += cut.queries) {
                const Block block = block_of(problem, scoring, pass, first, cut.queries);
                const int64_t count = block.queries * problem.group();
                const int64_t from = first * problem.group();
                const Tensor products = array_like(arrays.q, scores.data(), dtype_of<S>);
                const Tensor probabilities = array_like(arrays.q, scores.data(), dtype_of<P>);
                if (block.width > 0) {
                    multiply(matrices(products, block), queries.rows(from, count),
                             keys.columns(block.first_key, block.width));
                }
                exponentiate<S, P, kPlain>(block, scoring, static_cast<S*>(scores.data()),
                                           static_cast<S*>(totals.data()), record);
                if (block.width > 0) {
                    const View result(sum_array, {all.run.count * pass.heads, count, problem.size},
                                      {rows * problem.size, problem.size, 1}, from * problem.size);
                    multiply(result, matrices(probabilities, block, kParts),
                             values.rows(kParts * block.first_key, kParts * block.width));
                }
            }
            const auto* const summed = static_cast<const S*>(sums.data());
            const auto* const total = static_cast<const S*>(totals.data());
            auto* const marked = static_cast<uint8_t*>(flags.data());
            if (problem.size % 4 == 0 && reinterpret_cast<uintptr_t>(out) % (4 * sizeof(P)) == 0) {
                divide<S, P, 4>(all, layout, factor, summed, total, marked, out);
            } else {
                divide<S, P, 1>(all, layout, factor, summed, total, marked, out);
            }
            recompute<S, P>(all, layout, scoring, arrays, marked, out);
        }
    }
}

// Keys of a query that a group goes through at most; more are split among several.
constexpr int64_t kKeysOfPart = 1024;

// What the parts of each query have seen becomes its row: `states` has, for each of them, a Seen and `size` sums.
template <typename S, typename P>
void join_parts(const DeviceProblem& problem, const Scoring& scoring, int64_t parts, const S* states, P* out,
                const Record<S>& record) {
    for_groups(problem.queries * problem.heads, kTile, tile_bytes<S>(problem.size, 1),
               [=] DIOPI_KERNEL(Group & group, int64_t at) {
                   const int64_t head = at % problem.heads;
                   const int64_t s = problem.sequence_of_query(at / problem.heads);
                   const Sequence& own = problem.sequences[s];
                   const int64_t stride = 2 + problem.size;
                   const S* const first = states + at * parts * stride;
                   Seen<S> seen{-std::numeric_limits<S>::infinity(), 0};
                   for (int64_t part = 0; part < parts; ++part) {
                       seen.top = first[part * stride] > seen.top ? first[part * stride] : seen.top;
                   }
                   S* sums = group.template shared<S>();
                   for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                       sums[d] = 0;
                   }
                   for (int64_t part = 0; part < parts; ++part) {
                       const S* const state = first + part * stride;
                       if (state[1] != 0) {
                           const S exponential = exp(state[0] - seen.top);
                           seen.total += state[1] * exponential;
                           for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                               sums[d] += state[2 + d] * exponential;
                           }
                       }
                   }
                   finish_one<S, P>(group, problem, scoring, own, s, head, at / problem.heads - own.query_row, seen,
                                    sums, out, record);
               });
}

template <typename S, typename P>
void attend_by_queries(const Problem& problem, const Scoring& scoring, const Arrays& arrays, P* out,
                       const Record<S>& record, const int64_t* rows) {
    const ProblemOnDevice on_device(problem);
    DeviceProblem layout = on_device.problem();
    layout.rows = rows;
    const P* const q = elements<P>(arrays.q);
    const P* const k = elements<P>(arrays.k);
    const P* const v = elements<P>(arrays.v);
    int64_t longest = 0;
    for (const Sequence& own : problem.sequences) {
        longest = std::max(longest, own.keys);
    }
    const int64_t parts = std::max<int64_t>(1, (longest + kKeysOfPart - 1) / kKeysOfPart);
    const int64_t stride = 2 + layout.size;
    Buffer memory;
    if (parts > 1) {
        memory.allocate(layout.queries * layout.heads * parts * stride * static_cast<int64_t>(sizeof(S)));
    }
    S* const states = static_cast<S*>(memory.data());
    for_groups(layout.queries * layout.heads * parts, kTile, tile_bytes<S>(layout.size, 1),
               [=] DIOPI_KERNEL(Group & group, int64_t k_group) {
                   const int64_t at = k_group / parts;
                   const int64_t head = at % layout.heads;
                   const int64_t s = layout.sequence_of_query(at / layout.heads);
                   const Sequence& own = layout.sequences[s];
                   const int64_t query = at / layout.heads - own.query_row;
                   Span span = attention::window(scoring, own, query);
                   if (parts > 1) {
                       span.first += k_group % parts * kKeysOfPart;
                       const int64_t end = span.first + kKeysOfPart;
                       span.last = span.last < end ? span.last : end;
                   }
                   S* sums = group.template shared<S>() + group.size();
                   const Seen<S> seen =
                       attend_keys<S, P>(group, layout, scoring, own, s, head, query, span, q, k, v, sums);
                   if (parts == 1) {
                       finish_one<S, P>(group, layout, scoring, own, s, head, query, seen, sums, out, record);
                       return;
                   }
                   S* const state = states + k_group * stride;
                   for (int64_t d = group.thread(); d < layout.size; d += group.size()) {
                       state[2 + d] = sums[d];
                   }
                   if (group.thread() == 0) {
                       state[0] = seen.top;
                       state[1] = seen.total;
                   }
               });
    if (parts > 1) {
        join_parts<S, P>(layout, scoring, parts, states, out, record);
    }
}

template <typename W>
void gather(W* to, const W* from, const int64_t* rows, int64_t count, int64_t width) {
    for_each(count * width, [=] DIOPI_KERNEL(int64_t at) { to[at] = from[rows[at / width] * width + at % width]; });
}

// Contiguous rows of an array, in memory of their own.
template <typename P>
Tensor gathered(const Tensor& array, const int64_t* rows, int64_t count, int64_t width, Buffer& memory) {
    memory.allocate(count * width * static_cast<int64_t>(sizeof(P)));
    gather<P>(static_cast<P*>(memory.data()), elements<P>(array), rows, count, width);
    return array_like(array, memory.data(), array.dtype);
}

template <typename S, typename P>
void attend_as(const Problem& problem, const Scoring& scoring, const attention::Operands& operands, void* out,
               const Record<S>& record, const std::vector<int64_t>* rows) {
    const RawInput q(operands.q);
    const RawInput k(operands.k);
    const RawInput v(operands.v);
    Arrays arrays{array_of(operands.q, q), array_of(operands.k, k), array_of(operands.v, v)};
    auto* const to = static_cast<P*>(out);
    Buffer list;
    if (rows != nullptr) {
        list = to_device(*rows);
    }
    const auto* const listed = static_cast<const int64_t*>(list.data());
    if (!goes_by_blocks(problem)) {
        attend_by_queries<S, P>(problem, scoring, arrays, to, record, listed);
        return;
    }
    Buffer key_rows;
    Buffer value_rows;
    if (rows != nullptr) {
        const auto count = static_cast<int64_t>(rows->size());
        arrays.k = gathered<P>(arrays.k, listed, count, problem.key_rows.row, key_rows);
        arrays.v = gathered<P>(arrays.v, listed, count, problem.key_rows.row, value_rows);
    }
    if (is_plain(scoring)) {
        attend_by_blocks<S, P, true>(problem, scoring, arrays, to, record);
    } else {
        attend_by_blocks<S, P, false>(problem, scoring, arrays, to, record);
    }
}

}  // namespace

void attend(const Problem& problem, const Scoring& scoring, const attention::Operands& operands, void* out,
            const Record<float>& record, const std::vector<int64_t>* rows) {
    switch (operands.q.dtype) {
        case Dtype::kFloat16:
            return attend_as<float, Half>(problem, scoring, operands, out, record, rows);
        case Dtype::kBfloat16:
            return attend_as<float, Bfloat16>(problem, scoring, operands, out, record, rows);
        case Dtype::kFloat32:
            return attend_as<float, float>(problem, scoring, operands, out, record, rows);
        case Dtype::kFloat64:
            return attend_as<double, double>(problem, scoring, operands, out, Record<double>{}, rows);
        default:
            fail(std::string("attention is not defined for ") + name_of(operands.q.dtype), diopiDtypeNotSupported);
    }
}

}  // namespace diopigen::cuda
