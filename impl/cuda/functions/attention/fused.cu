// Attention by cuDNN's fused kernels: which calls they serve, and what they leave to own kernels. They multiply hidden
// pairs by 0, as the products of blocks do: rows that are not finite are recomputed one by one (forward.h, backward.h).
#include <algorithm>
#include <optional>

#include "diopi_core/raw_elements.h"
#include "diopi_cuda/to_device.h"
#include "flagged_rows.h"
#include "fused.h"
#include "gradient_rows.h"
#include "runs.h"

namespace diopigen::cuda {

namespace {

constexpr int64_t kMostDropoutBytes = int64_t{256} << 20;  // of the mask, which cuDNN reads from memory
constexpr int64_t kMostElements = INT32_MAX;               // of a tensor: starts of sequences are int32

int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

// The problem as cuDNN describes it. Lengths of joined sequences are rounded, so that few plans come up.
FusedAttention described(const Problem& problem, const Scoring& scoring, Dtype dtype, bool is_gradient) {
    FusedAttention result{};
    const Sequence& first = problem.sequences.front();
    result.dtype = dtype;
    result.is_gradient = is_gradient;
    result.batch = static_cast<int64_t>(problem.sequences.size());
    result.heads = problem.heads;
    result.kv_heads = problem.kv_heads;
    result.size = problem.size;
    result.is_square = true;
    for (const Sequence& own : problem.sequences) {
        result.queries = std::max(result.queries, own.queries);
        result.keys = std::max(result.keys, own.keys);
        result.total_queries += own.queries;
        result.total_keys += own.keys;
        result.is_joined = result.is_joined || own.queries != first.queries || own.keys != first.keys;
        result.is_square = result.is_square && own.queries == own.keys;
    }
    if (result.is_joined) {
        result.queries = rounded_up(result.queries, 64);
        result.keys = rounded_up(result.keys, 64);
        result.total_queries = rounded_up(result.total_queries, 1024);
        result.total_keys = rounded_up(result.total_keys, 1024);
    }
    result.left = scoring.left;
    result.right = scoring.right;
    result.has_dropout = scoring.dropout.is_active();
    result.scale = static_cast<float>(scoring.scale);
    return result;
}

// Whether cuDNN computes what the contract says. The limits are those of its documentation and of what its frontend
// checks, for version 9.13 and later.
bool serves(const Problem& problem, const Scoring& scoring, Dtype dtype, bool is_gradient) {
    if ((dtype != Dtype::kFloat16 && dtype != Dtype::kBfloat16) || !goes_by_blocks(problem)) {
        return false;  // few queries or keys are not worth a plan for each length
    }
    const FusedDevice device = fused_device();
    const FusedAttention own = described(problem, scoring, dtype, is_gradient);
    const bool is_masked = own.left >= 0 || own.right >= 0;
    const bool has_version = device.version >= 91300 && device.version != 91400;  // 9.14.0 errs in windows
    const bool has_device = device.major >= 8 && device.major <= 12;
    // Its slopes are its own, and a mask would have to be a bias in memory.
    const bool has_scores = scoring.slopes == nullptr && scoring.mask == nullptr;
    const int64_t most = !is_gradient || device.major == 9 ? 256 : 128;
    const bool has_size = own.size % 8 == 0 && own.size <= most;
    const bool has_range =
        std::max(problem.query_rows.row * own.total_queries, problem.key_rows.row * own.total_keys) <= kMostElements &&
        std::max({own.batch * own.heads * own.queries, own.keys, own.left, own.right}) < int64_t{1} << 24;
    // A query that sees no key: 0 and infinity by contract, NaN by cuDNN.
    const bool sees_keys = std::all_of(problem.sequences.begin(), problem.sequences.end(), [&](const Sequence& one) {
        return one.queries > 0 && one.keys > 0 && (!is_masked || one.keys >= one.queries);
    });
    // Joined sequences, and their gradients in an order of sums that does not change from run to run.
    const bool has_joined = !own.is_joined || (device.major >= 9 && device.major <= (is_gradient ? 10 : 12));
    const bool has_order =
        !is_gradient || device.major != 10 || (device.version >= 91800 && !scoring.dropout.is_active());
    // Bit for bit the mask of the own kernels, so that either may follow the other. Not behind a diagonal that begins
    // at the last of both.
    const bool has_dropout =
        !scoring.dropout.is_active() || (!own.is_joined && (own.is_square || !is_masked) &&
                                         2 * own.batch * own.heads * own.queries * own.keys <= kMostDropoutBytes);
    return has_version && has_device && has_scores && has_size && has_range && sees_keys && has_joined && has_order &&
           has_dropout;
}

// Lists and factors that a plan reads from the memory of the device.
class Lists {
  public:
    Lists(const Problem& problem, const Scoring& scoring, const FusedAttention& attention, FusedMemory& memory) {
        if (attention.is_joined) {
            std::vector<int32_t> counts[2];
            std::vector<int32_t> starts[2];
            for (const Sequence& own : problem.sequences) {
                counts[0].push_back(static_cast<int32_t>(own.queries));
                counts[1].push_back(static_cast<int32_t>(own.keys));
                starts[0].push_back(static_cast<int32_t>(own.query_start));
                starts[1].push_back(static_cast<int32_t>(own.key_start));
            }
            const Sequence& last = problem.sequences.back();
            starts[0].push_back(static_cast<int32_t>(last.query_start + last.queries * problem.query_rows.row));
            starts[1].push_back(static_cast<int32_t>(last.key_start + last.keys * problem.key_rows.row));
            at(memory, FusedTensor::kQueryCounts) = add(counts[0]);
            at(memory, FusedTensor::kKeyCounts) = add(counts[1]);
            at(memory, FusedTensor::kQueryStarts) = add(starts[0]);
            at(memory, FusedTensor::kKeyStarts) = add(starts[1]);
        }
        if (attention.has_dropout) {
            const auto factor = static_cast<float>(scoring.dropout.factor());
            at(memory, FusedTensor::kDropoutFactor) = add(std::vector<float>{factor});
            if (attention.is_gradient) {
                at(memory, FusedTensor::kDropoutInverse) = add(std::vector<float>{1 / factor});
            }
        }
    }

  private:
    template <typename V>
    void* add(const std::vector<V>& values) {
        buffers_.push_back(to_device(values));
        return buffers_.back().data();
    }
    std::vector<Buffer> buffers_;
};

// 1 where dropout keeps a probability, else 0.
template <typename P>
void store_dropout_mask(P* mask, int64_t count, const attention::Dropout& dropout) {
    for_each((count + 3) / 4, [=] DIOPI_KERNEL(int64_t i) {
        float factors[4];
        const auto left = static_cast<int>(count - 4 * i < 4 ? count - 4 * i : 4);
        load_dropout_factors(dropout, 4 * i, left, 1.0f, factors);
        for (int e = 0; e < left; ++e) {
            mask[4 * i + e] = P(factors[e]);
        }
    });
}

// Rows of `size` elements that have something else than finite numbers get a flag.
template <typename P>
void flag_rows(const P* rows, int64_t count, int64_t size, uint8_t* flags) {
    constexpr int kWidth = kVectorSize<P>;
    for_each(count * size / kWidth, [=] DIOPI_KERNEL(int64_t i) {
        const auto vector = load_vector<P, kWidth>(rows + i * kWidth);
        bool is_finite = true;
        DIOPI_UNROLL
        for (int e = 0; e < kWidth; ++e) {
            const auto value = static_cast<float>(vector.elements[e]);
            is_finite = is_finite && value - value == 0;
        }
        if (!is_finite) {
            flags[i * kWidth / size] = 1;
        }
    });
}

// Statistics between two layouts. Queries whose statistic is not finite get a flag where there are any.
void move_statistics(const DeviceProblem& problem, const float* from, const StatisticsIndex& from_index, float* to,
                     const StatisticsIndex& to_index, uint8_t* flags) {
    for_each(problem.queries * problem.heads, [=] DIOPI_KERNEL(int64_t row) {
        const QueryRow index(problem, row);
        const Sequence& own = problem.sequences[index.sequence];
        const float value = from[from_index(own, index.sequence, index.head, index.query)];
        to[to_index(own, index.sequence, index.head, index.query)] = value;
        if (flags != nullptr && !(value - value == 0)) {
            flags[row] = 1;
        }
    });
}

bool is_aligned(const FusedMemory& memory) {
    return std::all_of(memory.begin(), memory.end(),
                       [](const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; });
}

template <typename P>
struct RecomputedQuery {
    DeviceProblem problem;
    Scoring scoring;
    const P* q;
    const P* k;
    const P* v;
    P* out;
    Record<float> record;

    DIOPI_DEVICE void operator()(Group& group, int64_t row) const {
        const QueryRow index(problem, row);
        attend_one<float, P>(group, problem, scoring, problem.sequences[index.sequence], index.sequence, index.head,
                             index.query, q, k, v, out, record);
    }
};

template <typename P>
Buffer dropout_mask(const FusedAttention& attention, const Scoring& scoring, FusedMemory& memory) {
    Buffer mask;
    if (attention.has_dropout) {
        const int64_t count = attention.batch * attention.heads * attention.queries * attention.keys;
        mask.allocate(count * static_cast<int64_t>(sizeof(P)));
        store_dropout_mask(static_cast<P*>(mask.data()), count, scoring.dropout);
        at(memory, FusedTensor::kDropoutMask) = mask.data();
    }
    return mask;
}

void* without_const(const void* data) { return const_cast<void*>(data); }  // inputs of a plan

template <typename P>
bool attend_as(const Problem& problem, const Scoring& scoring, const attention::Operands& operands, P* out, float* lse,
               int64_t longest) {
    const FusedAttention attention = described(problem, scoring, operands.q.dtype, false);
    const RawInput q(operands.q);
    const RawInput k(operands.k);
    const RawInput v(operands.v);
    FusedMemory memory{};
    at(memory, FusedTensor::kQuery) = without_const(q.as<P>());
    at(memory, FusedTensor::kKey) = without_const(k.as<P>());
    at(memory, FusedTensor::kValue) = without_const(v.as<P>());
    at(memory, FusedTensor::kOut) = out;
    Buffer statistics;
    statistics.allocate(attention.batch * attention.heads * attention.queries * static_cast<int64_t>(sizeof(float)));
    at(memory, FusedTensor::kStatistics) = statistics.data();
    const Buffer mask = dropout_mask<P>(attention, scoring, memory);
    const Lists lists(problem, scoring, attention, memory);
    if (!is_aligned(memory) || !run_fused_attention(attention, memory)) {
        return false;
    }
    const ProblemOnDevice on_device(problem);
    const DeviceProblem own = on_device.problem();
    const int64_t rows = own.queries * own.heads;
    const Buffer buffer = cleared(rows);
    auto* const flags = static_cast<uint8_t*>(buffer.data());
    const StatisticsIndex index{problem.heads, longest};
    flag_rows<P>(out, rows, own.size, flags);
    move_statistics(own, static_cast<const float*>(statistics.data()), {problem.heads, attention.queries}, lse, index,
                    flags);
    for_flagged(rows, flags, tile_bytes<float>(own.size, 1),
                RecomputedQuery<P>{own, scoring, q.as<P>(), k.as<P>(), v.as<P>(), out, {index, lse, nullptr, nullptr}});
    return true;
}

template <typename P>
bool solve_as(const Problem& problem, const Scoring& scoring, const attention::Operands& operands,
              const attention::GradientTensors& tensors, const float* lse, int64_t longest) {
    const FusedAttention attention = described(problem, scoring, operands.q.dtype, true);
    const GradientArrays arrays(operands, tensors);
    const Gradients<P> gradients = arrays.gradients<P>();
    FusedMemory memory{};
    at(memory, FusedTensor::kQuery) = without_const(arrays.q.as<P>());
    at(memory, FusedTensor::kKey) = without_const(arrays.k.as<P>());
    at(memory, FusedTensor::kValue) = without_const(arrays.v.as<P>());
    at(memory, FusedTensor::kOut) = without_const(arrays.out.as<P>());
    at(memory, FusedTensor::kGradOut) = without_const(arrays.grad_out.as<P>());
    at(memory, FusedTensor::kGradQuery) = gradients.q;
    at(memory, FusedTensor::kGradKey) = gradients.k;
    at(memory, FusedTensor::kGradValue) = gradients.v;
    const ProblemOnDevice on_device(problem);
    const DeviceProblem own = on_device.problem();
    const StatisticsIndex index{problem.heads, longest};
    const Buffer statistics =
        cleared(attention.batch * attention.heads * attention.queries * static_cast<int64_t>(sizeof(float)));
    move_statistics(own, lse, index, static_cast<float*>(statistics.data()), {problem.heads, attention.queries},
                    nullptr);
    at(memory, FusedTensor::kStatistics) = statistics.data();
    const Buffer mask = dropout_mask<P>(attention, scoring, memory);
    const Lists lists(problem, scoring, attention, memory);
    if (!is_aligned(memory) || !run_fused_attention(attention, memory)) {
        return false;
    }
    const int64_t query_rows = own.queries * own.heads;
    const int64_t key_rows = own.keys * own.kv_heads;
    const Buffer query_buffer = cleared(query_rows);
    const Buffer key_buffer = cleared(key_rows);
    auto* const query_flags = static_cast<uint8_t*>(query_buffer.data());
    auto* const key_flags = static_cast<uint8_t*>(key_buffer.data());
    flag_rows<P>(gradients.q, query_rows, own.size, query_flags);
    flag_rows<P>(gradients.k, key_rows, own.size, key_flags);
    flag_rows<P>(gradients.v, key_rows, own.size, key_flags);
    const RowGradients<P> rows{own, scoring, arrays.inputs<P>(index, lse, nullptr), gradients};
    for_flagged(query_rows, query_flags, rows.query_bytes(), QueryGradient<P>{rows});
    for_flagged(key_rows, key_flags, rows.key_bytes(), KeyGradient<P>{rows});
    arrays.store();
    return true;
}

}  // namespace

bool attend_fused(const Problem& problem, const Scoring& scoring, const attention::Operands& operands, void* out,
                  float* lse, int64_t longest) {
    if (!serves(problem, scoring, operands.q.dtype, false)) {
        return false;
    }
    return operands.q.dtype == Dtype::kFloat16
               ? attend_as(problem, scoring, operands, static_cast<Half*>(out), lse, longest)
               : attend_as(problem, scoring, operands, static_cast<Bfloat16*>(out), lse, longest);
}

bool attend_fused_backward(const Problem& problem, const Scoring& scoring, const attention::Operands& operands,
                           const attention::GradientTensors& tensors, const float* lse, int64_t longest) {
    if (!serves(problem, scoring, operands.q.dtype, true)) {
        return false;
    }
    return operands.q.dtype == Dtype::kFloat16 ? solve_as<Half>(problem, scoring, operands, tensors, lse, longest)
                                               : solve_as<Bfloat16>(problem, scoring, operands, tensors, lse, longest);
}

}  // namespace diopigen::cuda
