// TopKSampling and TopPSampling: the tokens of all rows are sorted together, then a group to a sequence adds up what
// its candidates weigh, and one of its threads walks over them to the number that was sampled.
#include <cmath>
#include <memory>
#include <vector>

#include "../random/generator.h"
#include "diopi_core/kernel_checks.h"
#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/check.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "diopi_cuda/to_device.h"
#include "serving.h"
#include "serving/runtime_args.h"
#include "serving/workspace.h"

namespace diopigen::cuda {

namespace {

// What a sequence is sampled from and what is written of it; null where it is not there.
struct Sampled {
    const float* logits;
    const int64_t* order;  // elements of the logits, row by row, the largest first
    const RandomNumbers* random;
    const Int64* end_ids;
    const Int64* top_ks;
    const float* masses;
    const Bool* skipped;
    Int64* tokens;
    Bool* finished;
    Int64* lengths;
    float* sums;
    float* logs;
    int64_t vocabulary;
};

// Keys in whose rising order logits fall: rows first. NaN counts as -inf.
void make_keys(uint64_t* keys, int64_t* numbers, const float* logits, int64_t count, int64_t vocabulary) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        const float value = logits[i] == logits[i] ? logits[i] + 0.0F : -INFINITY;
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        const uint32_t rising = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
        keys[i] = static_cast<uint64_t>(i / vocabulary) << 32 | static_cast<uint32_t>(~rising);
        numbers[i] = i;
    });
}

void check_limits(const Sampled& own, int64_t batch, const char* top_k_message, const char* mass_message) {
    if (top_k_message != nullptr) {
        const Check check(top_k_message);
        const Finding found = check.finding();
        for_each(batch, [=] DIOPI_KERNEL(int64_t b) {
            const bool is_skipped = own.skipped != nullptr && own.skipped[b].value != 0;
            const int64_t top_k = own.top_ks[b].value;
            if (!is_skipped && (top_k < 1 || top_k > core::serving::kLargestTopK)) {
                found(top_k);
            }
        });
        check.conclude();
    }
    const Check check(mass_message);
    const Finding found = check.finding();
    for_each(batch, [=] DIOPI_KERNEL(int64_t b) {
        const bool is_skipped = own.skipped != nullptr && own.skipped[b].value != 0;
        if (!is_skipped && !(own.masses[b] >= 0 && own.masses[b] <= 1)) {
            found();
        }
    });
    check.conclude();
}

// exp(score - largest); 1 for all that are as large as an infinite largest one, 0 for the others.
DIOPI_DEVICE inline double weight(float score, float largest) {
    if (isinf(largest)) {
        return score == largest ? 1 : 0;
    }
    return score == score ? numeric::exp(static_cast<double>(score) - static_cast<double>(largest)) : 0;
}

void choose_tokens(const Sampled& own, int64_t batch) {
    constexpr int kThreads = 128;
    for_groups(batch, kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t b) {
        if (own.skipped != nullptr && own.skipped[b].value != 0) {
            return;
        }
        if (own.finished != nullptr && own.finished[b].value != 0) {
            if (group.thread() == 0) {
                own.tokens[b] = own.end_ids[b];
            }
            return;
        }
        const int64_t* order = own.order + b * own.vocabulary;
        const float first = own.logits[order[0]];
        const float largest = first == first ? first : -INFINITY;
        const bool is_limited = own.top_ks != nullptr && own.top_ks[b].value < own.vocabulary;
        const int64_t most = is_limited ? own.top_ks[b].value : own.vocabulary;
        double among = 0;
        double rest = 0;
        for (int64_t rank = group.thread(); rank < own.vocabulary; rank += group.size()) {
            (rank < most ? among : rest) += weight(own.logits[order[rank]], largest);
        }
        among = group.sum(among);
        rest = group.sum(rest);
        if (group.thread() != 0) {
            return;
        }
        const double target = unit(own.random[b](0), 0) * static_cast<double>(own.masses[b]) * among;
        double sum = 0;
        int64_t last = 0;
        for (int64_t rank = 0; rank < most; ++rank) {
            const double one = weight(own.logits[order[rank]], largest);
            if (one == 0) {
                break;
            }
            last = rank;
            sum += one;
            if (sum > target) {
                break;
            }
        }
        const int64_t token = order[last] % own.vocabulary;
        const float score = own.logits[order[last]];
        const double distance =
            score == largest || score != score ? 0 : static_cast<double>(score) - static_cast<double>(largest);
        own.tokens[b] = Int64(token);
        if (own.finished != nullptr) {
            own.finished[b] = Bool(token == own.end_ids[b].value);
        }
        if (own.lengths != nullptr) {
            own.lengths[b] = own.lengths[b] + Int64(1);
        }
        if (own.sums != nullptr) {
            own.sums[b] += static_cast<float>(distance - numeric::log(among + rest));
        }
        if (own.logs != nullptr) {
            own.logs[b] = static_cast<float>(distance - numeric::log(among));
        }
    });
}

// Elements of a tensor that may be null, to be changed.
class Target {
  public:
    Target(const Tensor& tensor, Dtype dtype) {
        if (!tensor.is_null()) {
            elements_ = std::make_unique<Changed>(tensor, dtype);
        }
    }
    template <typename T>
    T* as() const {
        return elements_ != nullptr ? elements_->template as<T>() : nullptr;
    }
    void store() const {
        if (elements_ != nullptr) {
            elements_->store();
        }
    }

  private:
    std::unique_ptr<Changed> elements_;
};

template <typename Args>
void sample(const Args& args, const Tensor& top_ks_tensor, const char* top_k_message, const char* mass_message) {
    const Input<float> logits(args.logits);
    const Input<Int64> end_ids(args.end_ids);
    const Input<Int64> top_ks(top_ks_tensor);
    const Input<float> masses(args.runtime_top_p);
    const Input<Bool> skipped(args.skip_decode);
    Sampled own{};
    own.top_ks = top_ks.data();
    own.masses = masses.data();
    own.skipped = skipped.data();
    check_limits(own, args.batch_size, top_k_message, mass_message);
    std::vector<RandomNumbers> streams;
    for (int64_t b = 0; b < args.batch_size; ++b) {
        streams.push_back(RandomNumbers::of(args.generators[b]));
    }
    const core::Buffer random = to_device(streams);
    Keyed order(args.logits.numel);
    make_keys(order.keys(), order.indices(), logits.data(), args.logits.numel, args.vocab_size_padded);
    order.sort(32 + bits_below(args.batch_size));
    const core::View written = core::selected(args.output_ids, 0, args.step);
    const Changed tokens(written.tensor(), Dtype::kInt64);
    const Target finished(args.finished, Dtype::kBool);
    const Target lengths(args.sequence_lengths, Dtype::kInt64);
    const Target sums(args.cum_log_probs, Dtype::kFloat32);
    const Target logs(args.output_log_probs, Dtype::kFloat32);
    own.logits = logits.data();
    own.order = order.indices();
    own.random = static_cast<const RandomNumbers*>(random.data());
    own.end_ids = end_ids.data();
    own.tokens = tokens.as<Int64>();
    own.finished = finished.as<Bool>();
    own.lengths = lengths.as<Int64>();
    own.sums = sums.as<float>();
    own.logs = logs.as<float>();
    own.vocabulary = args.vocab_size_padded;
    choose_tokens(own, args.batch_size);
    tokens.store();
    for (const Target* one : {&finished, &lengths, &sums, &logs}) {
        one->store();
    }
}

}  // namespace

}  // namespace diopigen::cuda

void diopigen::entry::top_k_sampling(const TopKSamplingArgs& args) {
    if (core::serving::asks_for_size(args.workspace, args.workspace_size)) {
        core::serving::no_memory({args.workspace_size});
        return;
    }
    core::require_separate({&args.output_ids, &args.sequence_lengths, &args.cum_log_probs, &args.output_log_probs},
                           {&args.logits, &args.end_ids, &args.runtime_top_k, &args.runtime_top_p});
    cuda::sample(args, args.runtime_top_k,
                 "C1: runtime_top_k is at least 1 and at most 1024 where skip_decode is not set",
                 "C2: runtime_top_p is at least 0 and at most 1 where skip_decode is not set");
}

void diopigen::entry::top_p_sampling(const TopPSamplingArgs& args) {
    if (core::serving::asks_for_size(args.persistent_workspace, args.persistent_workspace_size) ||
        core::serving::asks_for_size(args.workspace, args.workspace_size)) {
        core::serving::no_memory({args.persistent_workspace_size, args.workspace_size});
        return;
    }
    core::require_separate({&args.output_ids, &args.sequence_lengths, &args.cum_log_probs, &args.output_log_probs},
                           {&args.logits, &args.end_ids, &args.runtime_top_p});
    cuda::sample(args, Tensor(), nullptr, "C1: runtime_top_p is at least 0 and at most 1 where skip_decode is not set");
}
