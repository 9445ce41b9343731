#include "operands.h"

#include "diopi_cpu/reduction.h"
#include "diopi_cpu/strided.h"

namespace diopi::cpu::attention {

Operands::Operands(diopiConstTensorHandle_t q_handle, diopiConstTensorHandle_t k_handle,
                   diopiConstTensorHandle_t v_handle, DtypeSet allowed)
    : Operands(tensor("q", q_handle, allowed), tensor("k", k_handle, allowed), tensor("v", v_handle, allowed)) {}

Operands::Operands(const Tensor& q_tensor, const Tensor& k_tensor, const Tensor& v_tensor)
    : q(q_tensor), k(k_tensor), v(v_tensor) {
    require_same_dtype(k, q);
    require_same_dtype(v, q);
    require_same_shape(v, k);
}

namespace {

Problem problem_of(const Operands& operands, int64_t rank) {
    require_rank(operands.q, rank, rank);
    require_rank(operands.k, rank, rank);
    Problem problem;
    problem.heads = operands.q.shape[rank - 2];
    problem.kv_heads = operands.k.shape[rank - 2];
    problem.size = operands.q.shape[rank - 1];
    require(operands.k.shape[rank - 1] == problem.size, "parameters 'q' and 'k' differ in the size of a head");
    const bool divides = problem.kv_heads == 0 ? problem.heads == 0 : problem.heads % problem.kv_heads == 0;
    require(divides, "C1: kv_heads divides heads of 'q' and 'k'");
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
    require(operands.k.shape[0] == batch, "parameters 'q' and 'k' differ in the number of sequences");
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
        probabilities += problem.heads * sequence.queries * sequence.keys;
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

void require_slopes(const Tensor& slopes, int64_t batch, int64_t heads, const char* message) {
    if (slopes.is_null()) {
        return;
    }
    const bool fits = (slopes.rank == 1 && slopes.shape[0] == heads) ||
                      (slopes.rank == 2 && slopes.shape[0] == batch && slopes.shape[1] == heads);
    require(fits, message);
}

void set_slopes(Scoring& scoring, const Tensor& slopes, const Input<float>& values) {
    scoring.slopes = values.data();
    scoring.slope_stride = !slopes.is_null() && slopes.rank == 2 ? slopes.shape[1] : 0;
}

void set_mask(Scoring& scoring, const Tensor& mask, const std::vector<int64_t>& shape, const char* message) {
    if (mask.is_null()) {
        return;
    }
    const auto rank = static_cast<int64_t>(shape.size());
    require(mask.rank <= rank, message);
    for (int64_t i = 1; i <= mask.rank; ++i) {
        const int64_t size = mask.shape[mask.rank - i];
        require(size == 1 || size == shape[static_cast<size_t>(rank - i)], message);
        scoring.mask_strides[rank - i] = size == 1 ? 0 : mask.strides[mask.rank - i];
    }
    scoring.mask = static_cast<const uint8_t*>(mask.data);
}

Draws::Draws(diopiGeneratorHandle_t generator, double probability) : generator_(generator) {
    require(generator != nullptr, "parameter 'gen' is null");
    dropout_.probability = probability;
    require(diopiGeneratorGetSeedAndOffset(generator, &dropout_.seed, &dropout_.offset) == diopiSuccess,
            "parameter 'gen' gives no seed");
}

void Draws::advance() const {
    if (dropout_.is_active()) {
        const uint64_t offset = dropout_.offset + Dropout::kWords;
        require(diopiGeneratorSetSeedAndOffset(generator_, dropout_.seed, offset) == diopiSuccess,
                "parameter 'gen' takes no offset");
    }
}

void require_probability(double probability, const char* message) {
    require(probability >= 0 && probability < 1, message);
}

void require_separate(std::initializer_list<const Tensor*> written, std::initializer_list<const Tensor*> read) {
    for (const Tensor* one : written) {
        if (one->is_null()) {
            continue;
        }
        require_no_overlap(*one);
        for (const Tensor* other : written) {
            if (other != one && !other->is_null()) {
                require_disjoint(*one, *other);
                require_one_device({one, other});
            }
        }
        for (const Tensor* other : read) {
            if (!other->is_null()) {
                require_disjoint(*one, *other);
                require_one_device({one, other});
            }
        }
    }
}

}  // namespace diopi::cpu::attention
