#include "operands.h"

#include "diopi_core/reduction.h"
#include "diopi_core/strided.h"

namespace diopigen::core::attention {

namespace {

Problem problem_of(const Operands& operands, int64_t rank) {
    for (int64_t i = 0; i < rank; ++i) {
        require_countable({operands.q.shape[i], operands.k.shape[i]});
    }
    Problem problem;
    problem.heads = operands.q.shape[rank - 2];
    problem.kv_heads = operands.k.shape[rank - 2];
    problem.size = operands.q.shape[rank - 1];
    problem.query_rows = {problem.heads * problem.size, problem.size};
    problem.key_rows = {problem.kv_heads * problem.size, problem.size};
    return problem;
}

}  // namespace

Problem padded_problem(const Operands& operands) {
    Problem problem = problem_of(operands, 4);
    const int64_t batch = operands.q.shape[0];
    const int64_t queries = operands.q.shape[1];
    const int64_t keys = operands.k.shape[1];
    for (int64_t b = 0; b < batch; ++b) {
        problem.sequences.push_back(
            {queries, keys, b * queries * problem.query_rows.row, b * keys * problem.key_rows.row});
    }
    number_rows(problem);
    return problem;
}

Problem joined_problem(const Operands& operands, const std::vector<int64_t>& query_ends,
                       const std::vector<int64_t>& key_ends) {
    Problem problem = problem_of(operands, 3);
    int64_t query = 0;
    int64_t key = 0;
    for (size_t i = 0; i < query_ends.size(); ++i) {
        problem.sequences.push_back(
            {query_ends[i] - query, key_ends[i] - key, query * problem.query_rows.row, key * problem.key_rows.row});
        query = query_ends[i];
        key = key_ends[i];
    }
    number_rows(problem);
    return problem;
}

void number_rows(Problem& problem) {
    int64_t queries = 0;
    int64_t probabilities = 0;
    for (Sequence& sequence : problem.sequences) {
        sequence.query_row = queries;
        sequence.probability_start = probabilities;
        queries += sequence.queries;
        int64_t own = 0;
        const bool is_large = __builtin_mul_overflow(problem.heads * sequence.queries, sequence.keys, &own) ||
                              __builtin_add_overflow(probabilities, own, &probabilities);
        require(!is_large, "this library cannot count so many probabilities");
    }
}

int64_t probability_count(const Problem& problem) {
    if (problem.sequences.empty()) {
        return 0;
    }
    const Sequence& last = problem.sequences.back();
    return last.probability_start + problem.heads * last.queries * last.keys;
}

void require_ends(const std::vector<int64_t>& ends, int64_t total, const char* message, int64_t longest,
                  const char* longest_message) {
    int64_t before = 0;
    for (const int64_t end : ends) {
        require(end >= before && end <= total, message);
        require(end - before <= longest, longest_message);
        before = end;
    }
    require(before == total, message);
}

void set_window(Scoring& scoring, bool is_causal, int64_t left, int64_t right) {
    scoring.left = left;
    scoring.right = is_causal ? 0 : right;
}

void set_slopes(Scoring& scoring, const Tensor& slopes, const Input<float>& values) {
    scoring.slopes = values.data();
    scoring.slope_stride = !slopes.is_null() && slopes.rank == 2 ? slopes.shape[1] : 0;
}

void set_mask(Scoring& scoring, const Tensor& mask) {
    constexpr int64_t kRank = 4;
    for (int64_t i = 1; i <= mask.rank; ++i) {
        scoring.mask_strides[kRank - i] = mask.shape[mask.rank - i] == 1 ? 0 : mask.strides[mask.rank - i];
    }
    scoring.mask = static_cast<const uint8_t*>(mask.data);
}

DropoutState::DropoutState(diopiGeneratorHandle_t generator, double probability) : generator_(generator) {
    dropout_.probability = probability;
    // Without dropout the generator may be null.
    require(!dropout_.is_active() ||
                diopiGeneratorGetSeedAndOffset(generator, &dropout_.seed, &dropout_.offset) == diopiSuccess,
            "parameter 'gen' gives no seed");
}

void DropoutState::advance() const {
    if (dropout_.is_active()) {
        const uint64_t offset = dropout_.offset + Dropout::kOffsetPerCall;
        require(diopiGeneratorSetSeedAndOffset(generator_, dropout_.seed, offset) == diopiSuccess,
                "parameter 'gen' takes no offset");
    }
}

void require_countable(std::initializer_list<int64_t> sizes) {
    for (const int64_t size : sizes) {
        require(size <= INT32_MAX, "this library takes dimensions up to 2147483647");
    }
}

void require_separate(std::initializer_list<const Tensor*> written, std::initializer_list<const Tensor*> read) {
    for (const Tensor* one : written) {
        for (const Tensor* other : written) {
            if (other != one) {
                require_disjoint(*one, *other);
            }
        }
        for (const Tensor* other : read) {
            require_disjoint(*one, *other);
        }
    }
}

}  // namespace diopigen::core::attention
