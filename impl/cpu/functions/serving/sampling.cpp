// TopKSampling and TopPSampling. Candidates are in falling order of their logits, equal ones in rising order of tokens.
// The number that a sequence samples, in [0, 1), times the mass of its candidates falls into the running sum of their
// probabilities at the token that is choice.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "diopi_core/arguments.h"
#include "diopi_core/clones.h"
#include "diopi_core/vector_math.h"
#include "diopi_cpu/rows.h"
#include "random/sample.h"
#include "serving.h"
#include "serving/runtime_args.h"
#include "serving/workspace.h"

using namespace diopigen::core;
using namespace diopigen::core::serving;

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

DIOPI_CPU_CLONES float largest_of(const float* scores, int64_t count) {
    return diopigen::cpu::row_maximum(scores, count);
}

DIOPI_CPU_CLONES double sum_of_weights(const float* scores, int64_t count, double largest) {
    return diopigen::cpu::row_sum(
        count, [=](int64_t i) { return vector_math::exp(static_cast<double>(scores[i]) - largest); });
}

// The tokens of one sequence in the order of candidates, sorted as far as they are asked for. NaN counts as -inf.
class Ranked {
  public:
    Ranked(const float* logits, int64_t count) : scores_(logits, logits + count), tokens_(scores_.size()) {
        for (float& score : scores_) {
            score = std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
        }
        std::iota(tokens_.begin(), tokens_.end(), 0);
        largest_ = scores_.empty() ? kNone : static_cast<double>(largest_of(scores_.data(), this->count()));
    }
    int64_t count() const { return static_cast<int64_t>(tokens_.size()); }
    void sort(int64_t count) {
        if (count <= sorted_) {
            return;
        }
        const auto is_before = [this](int64_t a, int64_t b) {
            const float x = scores_[static_cast<size_t>(a)];
            const float y = scores_[static_cast<size_t>(b)];
            return x != y ? x > y : a < b;
        };
        std::partial_sort(tokens_.begin() + sorted_, tokens_.begin() + count, tokens_.end(), is_before);
        sorted_ = count;
    }
    int64_t sorted() const { return sorted_; }
    int64_t token(int64_t rank) const { return tokens_[static_cast<size_t>(rank)]; }
    // exp(logit - largest) of a token; 1 for all that are as large as an infinite largest one, 0 for the others.
    double weight(int64_t token) const {
        const auto own = static_cast<double>(scores_[static_cast<size_t>(token)]);
        return std::isinf(largest_) ? (own == largest_ ? 1 : 0) : std::exp(own - largest_);
    }
    // The logarithm of that.
    double distance(int64_t token) const {
        const auto own = static_cast<double>(scores_[static_cast<size_t>(token)]);
        return own == largest_ ? 0 : own - largest_;
    }
    double total() const {
        if (std::isinf(largest_)) {
            return static_cast<double>(std::count(scores_.begin(), scores_.end(), static_cast<float>(largest_)));
        }
        return sum_of_weights(scores_.data(), count(), largest_);
    }

  private:
    std::vector<float> scores_;
    std::vector<int64_t> tokens_;
    int64_t sorted_ = 0;
    double largest_ = kNone;
};

struct Choice {
    int64_t token = 0;
    double log_probability = 0;  // by the softmax over the vocabulary, where it is asked for
    double log_among = 0;        // among the candidates
};

// The first candidate at which the running sum is above `target`, else the last one that has a weight.
int64_t first_above(Ranked& ranked, int64_t most, double target) {
    constexpr int64_t kFirst = 64;
    double sum = 0;
    int64_t last = 0;
    for (int64_t rank = 0; rank < most; ++rank) {
        if (rank == ranked.sorted()) {
            ranked.sort(std::min(most, std::max(kFirst, 4 * ranked.sorted())));
        }
        const double weight = ranked.weight(ranked.token(rank));
        if (weight == 0) {
            break;
        }
        last = rank;
        sum += weight;
        if (sum > target) {
            break;
        }
    }
    return last;
}

Choice choose_top_k(Ranked& ranked, int64_t top_k, double mass, double number, bool asks_for_probability) {
    const int64_t most = std::min(top_k, ranked.count());
    ranked.sort(most);
    double sum = 0;
    for (int64_t rank = 0; rank < most; ++rank) {
        sum += ranked.weight(ranked.token(rank));
    }
    const int64_t token = ranked.token(first_above(ranked, most, number * mass * sum));
    const double distance = ranked.distance(token);
    const double total = asks_for_probability ? ranked.total() : 1;
    return {token, distance - std::log(total), distance - std::log(sum)};
}

Choice choose_top_p(Ranked& ranked, double mass, double number) {
    const double total = ranked.total();
    const int64_t token = ranked.token(first_above(ranked, ranked.count(), number * mass * total));
    const double log_probability = ranked.distance(token) - std::log(total);
    return {token, log_probability, log_probability};
}

// Elements of a tensor that may be null, to be changed.
std::optional<Changed> changed(const Tensor& tensor, Dtype dtype) {
    return tensor.is_null() ? std::nullopt : std::optional<Changed>(std::in_place, tensor, dtype);
}

// `choose(ranked, sequence, number)` for every sequence that is neither skipped nor finished. Every generator advances.
template <typename Args, typename Choose>
void sample(const Args& args, Choose&& choose) {
    const Input<Bool> skipped(args.skip_decode);
    std::vector<Stream> streams;
    for (int64_t b = 0; b < args.batch_size; ++b) {
        streams.emplace_back(args.generators[b]);
        streams.back().advance();  // so that sequences with a common generator sample different numbers
    }
    const View written = selected(args.output_ids, 0, args.step);
    const Input<float> logits(args.logits);
    const Input<Int64> end_ids(args.end_ids);
    const Changed tokens(written.tensor(), Dtype::kInt64);
    const std::optional<Changed> finished = changed(args.finished, Dtype::kBool);
    const std::optional<Changed> lengths = changed(args.sequence_lengths, Dtype::kInt64);
    const std::optional<Changed> sums = changed(args.cum_log_probs, Dtype::kFloat32);
    const std::optional<Changed> logs = changed(args.output_log_probs, Dtype::kFloat32);
    const int64_t vocabulary = args.vocab_size_padded;
    parallel_for(args.batch_size, row_grain(16 * vocabulary), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            if (skipped && skipped[b].value != 0) {
                continue;
            }
            if (finished && finished->template as<Bool>()[b].value != 0) {
                tokens.template as<Int64>()[b] = end_ids[b];
                continue;
            }
            Ranked ranked(logits.data() + b * vocabulary, vocabulary);
            const Choice choice = choose(ranked, b, unit(streams[static_cast<size_t>(b)](0), 0));
            tokens.template as<Int64>()[b] = Int64(choice.token);
            if (finished) {
                finished->template as<Bool>()[b] = Bool(choice.token == end_ids[b].value);
            }
            if (lengths) {
                lengths->template as<Int64>()[b] = lengths->template as<Int64>()[b] + Int64(1);
            }
            if (sums) {
                sums->template as<float>()[b] += static_cast<float>(choice.log_probability);
            }
            if (logs) {
                logs->template as<float>()[b] = static_cast<float>(choice.log_among);
            }
        }
    });
    tokens.store();
    for (const auto* one : {&finished, &lengths, &sums, &logs}) {
        if (*one) {
            (*one)->store();
        }
    }
}

// Requires that `holds(sequence)` of all sequences that are not skipped.
template <typename Args, typename Holds>
void require_of_sampled(const Args& args, const char* message, Holds&& holds) {
    const Input<Bool> skipped(args.skip_decode);
    for (int64_t b = 0; b < args.batch_size; ++b) {
        require((skipped && skipped[b].value != 0) || holds(b), message);
    }
}

}  // namespace

void diopigen::entry::top_k_sampling(const TopKSamplingArgs& args) {
    if (asks_for_size(args.workspace, args.workspace_size)) {
        no_memory({args.workspace_size});
        return;
    }
    require_separate({&args.output_ids, &args.sequence_lengths, &args.cum_log_probs, &args.output_log_probs},
                     {&args.logits, &args.end_ids, &args.runtime_top_k, &args.runtime_top_p});
    const Input<Int64> top_ks(args.runtime_top_k);
    const Input<float> masses(args.runtime_top_p);
    require_of_sampled(args, "C1: runtime_top_k is at least 1 and at most 1024 where skip_decode is not set",
                       [&](int64_t b) { return top_ks[b].value >= 1 && top_ks[b].value <= kLargestTopK; });
    require_of_sampled(args, "C2: runtime_top_p is at least 0 and at most 1 where skip_decode is not set",
                       [&](int64_t b) { return masses[b] >= 0 && masses[b] <= 1; });
    sample(args, [&](Ranked& ranked, int64_t b, double number) {
        return choose_top_k(ranked, top_ks[b].value, static_cast<double>(masses[b]), number,
                            !args.cum_log_probs.is_null());
    });
}

void diopigen::entry::top_p_sampling(const TopPSamplingArgs& args) {
    if (asks_for_size(args.persistent_workspace, args.persistent_workspace_size) ||
        asks_for_size(args.workspace, args.workspace_size)) {
        no_memory({args.persistent_workspace_size, args.workspace_size});
        return;
    }
    require_separate({&args.output_ids, &args.sequence_lengths, &args.cum_log_probs, &args.output_log_probs},
                     {&args.logits, &args.end_ids, &args.runtime_top_p});
    const Input<float> masses(args.runtime_top_p);
    require_of_sampled(args, "C1: runtime_top_p is at least 0 and at most 1 where skip_decode is not set",
                       [&](int64_t b) { return masses[b] >= 0 && masses[b] <= 1; });
    sample(args, [&](Ranked& ranked, int64_t b, double number) {
        return choose_top_p(ranked, static_cast<double>(masses[b]), number);
    });
}
