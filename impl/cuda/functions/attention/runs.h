// How attention is cut into blocks: so many queries, of so many heads and sequences at a time, that their scores
// against all keys stay within a fixed room. The cut follows from the shape alone.
#ifndef DIOPI_CUDA_ATTENTION_RUNS_H_
#define DIOPI_CUDA_ATTENTION_RUNS_H_

#include <diopigen/environment.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "attention/attention_problem.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

namespace attention = core::attention;
using attention::Problem;
using attention::Scoring;
using attention::Sequence;
using attention::Span;

// Sequences one after another that have the same numbers of queries and keys and lie equally far apart.
struct Run {
    Sequence first;
    int64_t index;  // of the first sequence
    int64_t count;
    int64_t query_spacing = 0;  // elements from one sequence to the next
    int64_t key_spacing = 0;
};

inline std::vector<Run> runs_of(const Problem& problem) {
    std::vector<Run> runs;
    for (size_t i = 0; i < problem.sequences.size(); ++i) {
        const Sequence& own = problem.sequences[i];
        if (!runs.empty()) {
            Run& run = runs.back();
            const int64_t query_spacing = own.query_start - problem.sequences[i - 1].query_start;
            const int64_t key_spacing = own.key_start - problem.sequences[i - 1].key_start;
            const bool is_evenly_spaced =
                run.count == 1 || (query_spacing == run.query_spacing && key_spacing == run.key_spacing);
            if (own.queries == run.first.queries && own.keys == run.first.keys && is_evenly_spaced) {
                run.query_spacing = query_spacing;
                run.key_spacing = key_spacing;
                ++run.count;
                continue;
            }
        }
        runs.push_back({own, static_cast<int64_t>(i), 1});
    }
    return runs;
}

// DIOPI_CUDA_ATTENTION_BYTES, or 0 where it is not set.
inline int64_t asked_bytes() {
    static const int64_t bytes = diopigen::environment::number("DIOPI_CUDA_ATTENTION_BYTES", 0);
    return bytes;
}

// Whether a problem is solved by blocks. Short sequences and single queries have too little work for products of
// matrices: each query goes by itself there.
inline bool goes_by_blocks(const Problem& problem) {
    constexpr int64_t kRows = 64;
    constexpr int64_t kKeys = 64;
    if (problem.heads == 0 || problem.kv_heads == 0 || problem.size == 0) {
        return false;
    }
    return asked_bytes() > 0 ||
           std::any_of(problem.sequences.begin(), problem.sequences.end(), [&](const Sequence& own) {
               return own.queries * problem.group() >= kRows && own.keys >= kKeys;
           });
}

// The keys that any of the queries [begin, end) may see by its window.
inline Span keys_of_block(const Scoring& scoring, const Sequence& own, int64_t begin, int64_t end) {
    constexpr int64_t kAlign = 64;  // so that few widths come up, and rows of keys begin at aligned addresses
    const int64_t first = attention::window(scoring, own, begin).first / kAlign * kAlign;
    const int64_t last = attention::window(scoring, own, end - 1).last;
    const int64_t to = std::min(own.keys, (last + kAlign - 1) / kAlign * kAlign);
    return {std::min(first, to), to};
}

// The distance from a row of scores to the next: rows can be read by vectors, and by tensor cores where they are
// halves.
inline int64_t stride_of(int64_t width) { return (width + 7) / 8 * 8; }

// What one block has at most. `kv_heads` is all of them where there are several sequences.
struct Cut {
    int64_t sequences;
    int64_t kv_heads;
    int64_t queries;
    int64_t scores;  // with strides
};

// `bytes` is what a score takes, of one array or of two.
inline Cut cut_of(const Problem& problem, const Scoring& scoring, const Run& run, int64_t bytes) {
    // Enough rows for products with the values to fill a device, of which a large second-level cache (50 MiB on an
    // H100) keeps most.
    constexpr int64_t kBytes = 64 << 20;
    constexpr int64_t kFewestRows = 16;
    constexpr int64_t kMostPairs = 65535;
    constexpr int64_t kMostElements = INT32_MAX;  // at one time: they are counted in 32 bits
    const bool is_windowed = scoring.left >= 0 || scoring.right >= 0;
    // Many queries of a few heads read keys and add to their gradients less often than a few of many; windows make work
    // of long blocks that is in vain.
    const int64_t target_rows = is_windowed ? 512 : 1024;
    const int64_t room = std::max<int64_t>(1, (asked_bytes() > 0 ? asked_bytes() : kBytes) / bytes);
    const int64_t heads_per_kv = problem.group();
    const auto scores_of = [&](int64_t queries) {
        int64_t widest = run.first.keys;
        if (scoring.left >= 0 && scoring.right >= 0) {
            widest = std::min(widest, queries + scoring.left + scoring.right + 128);
        }
        return queries * heads_per_kv * std::max<int64_t>(8, stride_of(widest));
    };
    const int64_t all_pairs = run.count * problem.kv_heads;
    int64_t queries = std::max<int64_t>(1, std::min(run.first.queries, target_rows / heads_per_kv));
    while (scores_of(queries) > room && queries * heads_per_kv > kFewestRows && queries > 1) {
        queries /= 2;
    }
    // Without windows longer blocks do no work in vain.
    while (!is_windowed && queries < run.first.queries && all_pairs * scores_of(2 * queries) <= room) {
        queries = std::min(run.first.queries, 2 * queries);
    }
    const int64_t elements = std::max(run.first.queries * heads_per_kv, run.first.keys) * problem.size;  // of a pair
    require(elements <= kMostElements, "too many queries or keys for attention");
    const int64_t by_elements = elements == 0 ? kMostPairs : kMostElements / elements;
    const int64_t by_room = std::max<int64_t>(1, room / std::max<int64_t>(1, scores_of(queries)));
    const int64_t pairs = std::max<int64_t>(1, std::min({all_pairs, kMostPairs, by_room, by_elements}));
    Cut cut{1, pairs, queries, 0};
    if (pairs >= problem.kv_heads) {
        cut.sequences = pairs / problem.kv_heads;
        cut.kv_heads = problem.kv_heads;
    }
    cut.scores = cut.sequences * cut.kv_heads * scores_of(queries);
    return cut;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_RUNS_H_
