#include "attention.h"

#include <cmath>

namespace diopigen::variants {

namespace {

std::vector<int64_t> indicesOf(const View& view) {
    std::vector<int64_t> found;
    for (int64_t i = 0; i < view.count(); ++i) found.push_back(view.integerAt(i));
    return found;
}

}  // namespace

Attention::Attention(Work& work) : work_(work), dtype_(work.dtype("q")) {
    outName_ = work.call().parameter("attention_out") != nullptr ? "attention_out" : "out";
    const double dropout = work.number("p_dropout", work.number("dropout_p"));
    const auto run = [&](auto zero) { return sizeof(zero) == sizeof(float); };
    usable_ = dropout == 0 && inAccumulateType(dtype_, run);
    if (!usable_) return;
    q_ = work.read<float>("q");
    k_ = work.read<float>("k");
    v_ = work.read<float>("v");
    slopes_ = work.read<float>("alibi_slopes");
    startsOfQueries_ = indicesOf(work.call().tensor("cum_seq_q"));
    startsOfKeys_ = indicesOf(work.call().tensor(work.has("cum_seq_kv") ? "cum_seq_kv" : "cum_seq_k"));
    scale_ = static_cast<float>(work.number("softmax_scale", work.number("scale", 1)));
    left_ = work.integer("window_size_left", -1);
    right_ = work.number("is_causal") != 0 ? 0 : work.integer("window_size_right", -1);
    longest_ = work.call().tensor("softmax_lse").size(-1);
}

std::vector<Attention::Sequence> Attention::sequences() const {
    std::vector<Sequence> found;
    if (startsOfQueries_.empty()) {
        const int64_t queries = q_.size(1), keys = k_.size(1);
        for (int64_t b = 0; b < q_.size(0); ++b) found.push_back({b, b * queries, queries, b * keys, keys});
        return found;
    }
    for (size_t b = 0; b + 1 < startsOfQueries_.size(); ++b) {
        found.push_back({static_cast<int64_t>(b), startsOfQueries_[b], startsOfQueries_[b + 1] - startsOfQueries_[b],
                         startsOfKeys_[b], startsOfKeys_[b + 1] - startsOfKeys_[b]});
    }
    return found;
}

void Attention::forEachQuery(const std::function<void(const Query&)>& body) const {
    const int64_t heads = q_.size(-2), sharedHeads = k_.size(-2), size = headSize();
    for (const Sequence& s : sequences()) {
        for (int64_t row = 0; row < s.queries * heads; ++row) {
            const int64_t i = row / heads, head = row % heads, own = head / (heads / sharedHeads);
            Query query;
            query.out = ((s.firstQuery + i) * heads + head) * size;
            query.logSum = (s.number * heads + head) * longest_ + i;
            for (int64_t j = 0; j < s.keys; ++j) {
                const int64_t key = ((s.firstKey + j) * sharedHeads + own) * size;
                const int64_t distance = j - (i + s.keys - s.queries);
                float score = 0;
                for (int64_t d = 0; d < size; ++d) score += q_[query.out + d] * k_[key + d];
                score *= scale_;
                if (slopes_.count() > 0) {
                    const int64_t slope = slopes_.rank() == 1 ? head : s.number * heads + head;
                    score -= slopes_[slope] * static_cast<float>(std::llabs(distance));
                }
                const bool hidden = (left_ >= 0 && distance < -left_) || (right_ >= 0 && distance > right_);
                query.scores.push_back(hidden ? -HUGE_VALF : score);
                query.values.push_back(key);
            }
            body(query);
        }
    }
}

std::vector<float> Attention::resultsBefore() const {
    return Work::numbersOf<float>(work_.call().tensor(outName_)).values;
}

std::vector<float> Attention::logSumsBefore() const {
    return Work::numbersOf<float>(work_.call().tensor("softmax_lse")).values;
}

bool Attention::write(const std::vector<float>& out, const std::vector<float>& logSums) const {
    const bool written = work_.write(outName_, out);
    return work_.write("softmax_lse", logSums) || written;
}

}  // namespace diopigen::variants
