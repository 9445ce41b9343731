// Attention in tiles: scores of a block of queries against a block of keys are one product of matrices, and maxima and
// sums of exponentials are carried from block to block (online softmax), so that the matrix of all scores is never in
// memory. Tiles multiply hidden keys by 0; where that could turn infinities or NaN of a key that a query does not see
// into NaN, the queries go one by one.
#ifndef DIOPI_CPU_FUNCTIONS_ATTENTION_TILES_H_
#define DIOPI_CPU_FUNCTIONS_ATTENTION_TILES_H_

#include "attention/attention_problem.h"
#include "diopi_core/gemm.h"
#include "rows.h"

namespace diopigen::core::attention {

constexpr int64_t kTileQueries = 128;
constexpr int64_t kTileKeys = 256;  // the scores of a tile stay in the second-level cache

// A block of queries of one head: where its rows begin, and what its queries see.
struct QueryBlock {
    const Problem& problem;
    const Scoring& scoring;
    const Sequence& sequence;
    QueryIndex first;  // query
    int64_t count;
    int64_t query_row;  // where the first row of q and out begins
    int64_t key_start;  // where the rows of keys begin
    Span keys{0, 0};    // all that any of its queries may see
    Span spans[kTileQueries];

    QueryBlock(const Problem& problem, const Scoring& scoring, const QueryIndex& first, int64_t count)
        : problem(problem),
          scoring(scoring),
          sequence(problem.sequences[static_cast<size_t>(first.sequence)]),
          first(first),
          count(count),
          query_row(problem.query_head(sequence, first.head) + first.query * problem.query_rows.row),
          key_start(problem.key_head(sequence, first.head / problem.group())) {
        keys = {sequence.keys, 0};
        for (int64_t i = 0; i < count; ++i) {
            spans[i] = window(scoring, sequence, first.query + i);
            if (spans[i].first < spans[i].last) {
                keys = {std::min(keys.first, spans[i].first), std::max(keys.last, spans[i].last)};
            }
        }
    }
    QueryIndex index_of(int64_t i) const { return {first.sequence, first.head, first.query + i}; }

    // The scores against keys [begin, begin + width), minus infinity where they are hidden. `visit(i, row, seen)` takes
    // each row with the number of keys that it sees.
    template <typename T, typename Visit>
    void score(const T* q, const T* k, int64_t begin, int64_t width, T* scores, Visit&& visit) const {
        constexpr T kHidden = -std::numeric_limits<T>::infinity();
        gemm_block<T>({count, problem.size, width}, static_cast<T>(scoring.scale),
                      {q + query_row, problem.query_rows.row},
                      {k + key_start + begin * problem.key_rows.row, problem.key_rows.row, true}, T(0), scores, width);
        for (int64_t i = 0; i < count; ++i) {
            T* row = scores + i * width;
            const int64_t from = std::min(width, std::max<int64_t>(0, spans[i].first - begin));
            const int64_t to = std::max(from, std::min(width, spans[i].last - begin));
            std::fill(row, row + from, kHidden);
            std::fill(row + to, row + width, kHidden);
            int64_t seen = to - from;
            if (scoring.slopes != nullptr) {
                const int64_t diagonal = first.query + i + sequence.keys - sequence.queries;
                const auto slope = static_cast<T>(scoring.slopes[first.sequence * scoring.slope_stride + first.head]);
                for (int64_t j = from; j < to; ++j) {
                    row[j] -= slope * static_cast<T>(std::abs(diagonal - begin - j));
                }
            }
            if (scoring.mask != nullptr) {
                const int64_t* strides = scoring.mask_strides;
                const uint8_t* mask = scoring.mask + first.sequence * strides[0] + first.head * strides[1] +
                                      (first.query + i) * strides[2] + begin * strides[3];
                for (int64_t j = from; j < to; ++j) {
                    if (mask[j * strides[3]] != 0) {
                        row[j] = kHidden;
                        --seen;
                    }
                }
            }
            visit(i, row, seen);
        }
    }

    // Multiplies by 0 where dropout drops, and by its factor elsewhere.
    template <typename T>
    void drop_row(int64_t i, int64_t begin, int64_t width, T* row) const {
        const auto factor = static_cast<T>(scoring.dropout.factor());
        const Span span{std::max(begin, spans[i].first), std::min(begin + width, spans[i].last)};
        drop(problem, scoring.dropout, index_of(i), span,
             [&](int64_t j, bool survives) { row[j - begin] = survives ? row[j - begin] * factor : T(0); });
    }
};

template <typename T>
T* scratch(int64_t count) {
    thread_local std::vector<T> room;
    if (static_cast<int64_t>(room.size()) < count) {
        room.resize(static_cast<size_t>(count));
    }
    return room.data();
}

template <typename T, typename Record>
void forward_block(const QueryBlock& block, const T* q, const T* k, const T* v, T* out, Record&& record) {
    const Problem& problem = block.problem;
    const int64_t size = problem.size;
    T* const scores = scratch<T>(kTileQueries * (kTileKeys + size));
    T* const sums = scores + kTileQueries * kTileKeys;  // of weighted values
    std::fill(sums, sums + block.count * size, T(0));
    T maxima[kTileQueries];
    T totals[kTileQueries];
    int64_t seen[kTileQueries];
    std::fill_n(maxima, block.count, -std::numeric_limits<T>::infinity());
    std::fill_n(totals, block.count, T(0));
    std::fill_n(seen, block.count, int64_t{0});
    for (int64_t begin = block.keys.first; begin < block.keys.last; begin += kTileKeys) {
        const int64_t width = std::min(kTileKeys, block.keys.last - begin);
        block.score(q, k, begin, width, scores, [&](int64_t i, T* row, int64_t seen_here) {
            seen[i] += seen_here;
            const T maximum = std::max(maxima[i], largest(row, width));
            if (maximum == -std::numeric_limits<T>::infinity()) {
                std::fill_n(row, width, T(0));
                return;
            }
            const T shrink = std::exp(maxima[i] - maximum);
            totals[i] = totals[i] * shrink + exponentiate(row, width, maximum);
            maxima[i] = maximum;
            if (shrink != 1) {
                for (int64_t e = 0; e < size; ++e) {
                    sums[i * size + e] *= shrink;
                }
            }
            if (block.scoring.dropout.is_active()) {
                block.drop_row(i, begin, width, row);
            }
        });
        gemm_block<T>({block.count, width, size}, T(1), {scores, width},
                      {v + block.key_start + begin * problem.key_rows.row, problem.key_rows.row}, T(1), sums, size);
    }
    for (int64_t i = 0; i < block.count; ++i) {
        T* result = out + block.query_row + i * problem.query_rows.row;
        const T* sum = sums + i * size;
        if (seen[i] > 0 && !(totals[i] > 0 && is_finite(&totals[i], 1) && is_finite(sum, size))) {
            forward_row(problem, block.scoring, block.index_of(i), q, k, v, out, record);
            continue;
        }
        record(block.index_of(i), maxima[i], totals[i]);
        const T factor = seen[i] > 0 ? 1 / totals[i] : T(0);
        for (int64_t e = 0; e < size; ++e) {
            result[e] = seen[i] > 0 ? sum[e] * factor : T(0);
        }
    }
}

// Writes the rows of `out` that belong to queries; those that see no key become 0. `record(position, maximum, sum)`
// takes the largest score and the sum of exponentials of each query; the sum is 0 where it sees no key.
template <typename T, typename Record>
void forward(const Problem& problem, const Scoring& scoring, const T* q, const T* k, const T* v, T* out,
             Record&& record) {
    for_each_block(problem, kTileQueries, [&](int64_t sequence, int64_t head, int64_t first, int64_t last) {
        forward_block(QueryBlock(problem, scoring, {sequence, head, first}, last - first), q, k, v, out, record);
    });
}

template <typename T>
void backward_block(const QueryBlock& block, const T* q, const T* k, const T* v, const T* out, const T* grad_out,
                    const Normal<T>* normals, const Gradients<T>& gradients) {
    const Problem& problem = block.problem;
    const int64_t size = problem.size;
    const int64_t query_stride = problem.query_rows.row;
    const int64_t key_stride = problem.key_rows.row;
    const bool drops = block.scoring.dropout.is_active();
    T* const probabilities = scratch<T>(2 * kTileQueries * kTileKeys);
    T* const to_score = probabilities + kTileQueries * kTileKeys;
    T centres[kTileQueries];
    for (int64_t i = 0; i < block.count; ++i) {
        const int64_t row = block.query_row + i * query_stride;
        centres[i] = dot(grad_out + row, out + row, size);
    }
    for (int64_t begin = block.keys.first; begin < block.keys.last; begin += kTileKeys) {
        const int64_t width = std::min(kTileKeys, block.keys.last - begin);
        const int64_t keys = block.key_start + begin * key_stride;
        const Matrix<T> grad_block{grad_out + block.query_row, query_stride};
        gemm_block<T>({block.count, size, width}, T(1), grad_block, {v + keys, key_stride, true}, T(0), to_score,
                      width);
        block.score(q, k, begin, width, probabilities, [&](int64_t i, T* row, int64_t seen) {
            T* gradient = to_score + i * width;
            if (seen == 0) {
                std::fill_n(row, width, T(0));
                std::fill_n(gradient, width, T(0));
                return;
            }
            exponentiate(row, width, normals[i].shift);
            const T factor = 1 / normals[i].sum;
            for (int64_t j = 0; j < width; ++j) {
                row[j] *= factor;
            }
            if (drops) {
                block.drop_row(i, begin, width, gradient);
            }
            to_scores(row, gradient, width, static_cast<T>(block.scoring.scale), centres[i]);
            if (drops) {
                block.drop_row(i, begin, width, row);
            }
        });
        gemm_block<T>({width, block.count, size}, T(1), {probabilities, width, true}, grad_block, T(1),
                      gradients.v + keys, key_stride);
        gemm_block<T>({width, block.count, size}, T(1), {to_score, width, true}, {q + block.query_row, query_stride},
                      T(1), gradients.k + keys, key_stride);
        gemm_block<T>({block.count, width, size}, T(1), {to_score, width}, {k + keys, key_stride}, T(1),
                      gradients.q + block.query_row, query_stride);
    }
}

// Whether all rows of a head are finite.
template <typename T>
bool has_finite_rows(const T* rows, int64_t count, int64_t stride, int64_t size) {
    for (int64_t i = 0; i < count; ++i) {
        if (!is_finite(rows + i * stride, size)) {
            return false;
        }
    }
    return true;
}

// Adds the gradients of one query head to arrays; see `backward`.
template <typename T, typename GetNormal>
void backward_head(const Problem& problem, const Scoring& scoring, int64_t s, int64_t head, const T* q, const T* k,
                   const T* v, const T* out, const T* grad_out, const GetNormal& normal,
                   const Gradients<T>& gradients) {
    const Sequence& sequence = problem.sequences[static_cast<size_t>(s)];
    const int64_t rows = problem.query_head(sequence, head);
    const int64_t keys = problem.key_head(sequence, head / problem.group());
    const int64_t stride = problem.query_rows.row;
    const int64_t key_stride = problem.key_rows.row;
    bool is_tame = has_finite_rows(k + keys, sequence.keys, key_stride, problem.size) &&
                   has_finite_rows(v + keys, sequence.keys, key_stride, problem.size);
    for (const T* array : {q, out, grad_out}) {
        is_tame = is_tame && has_finite_rows(array + rows, sequence.queries, stride, problem.size);
    }
    std::vector<Normal<T>> normals(static_cast<size_t>(sequence.queries));
    for (int64_t i = 0; i < sequence.queries; ++i) {  // infinite where a query sees nothing
        normals[static_cast<size_t>(i)] = normal(QueryIndex{s, head, i});
        is_tame = is_tame && normals[static_cast<size_t>(i)].shift > -std::numeric_limits<T>::infinity();
    }
    std::vector<T> buffer;
    for (int64_t first = 0; first < sequence.queries; first += kTileQueries) {
        const int64_t count = std::min(kTileQueries, sequence.queries - first);
        if (is_tame) {
            backward_block(QueryBlock(problem, scoring, {s, head, first}, count), q, k, v, out, grad_out,
                           normals.data() + first, gradients);
            continue;
        }
        for (int64_t i = first; i < first + count; ++i) {
            backward_row(problem, scoring, {s, head, i}, q, k, v, out, grad_out, normals[static_cast<size_t>(i)],
                         gradients, buffer);
        }
    }
}

// Adds the gradients to arrays that hold zeros. `normal(position)` gives the statistics of the forward pass. Each key
// head is worked on by one thread, with all the query heads that it serves.
template <typename T, typename GetNormal>
void backward(const Problem& problem, const Scoring& scoring, const T* q, const T* k, const T* v, const T* out,
              const T* grad_out, const GetNormal& normal, const Gradients<T>& gradients) {
    const int64_t group = problem.group();
    const int64_t tasks = static_cast<int64_t>(problem.sequences.size()) * problem.kv_heads;
    parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
            const int64_t first = task % problem.kv_heads * group;
            for (int64_t head = first; head < first + group; ++head) {
                backward_head(problem, scoring, task / problem.kv_heads, head, q, k, v, out, grad_out, normal,
                              gradients);
            }
        }
    });
}

}  // namespace diopigen::core::attention

#endif  // DIOPI_CPU_FUNCTIONS_ATTENTION_TILES_H_
