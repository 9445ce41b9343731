#include <c10/util/Exception.h>
#include <diopigen_torch/arena_plan.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace diopigen::backend {

namespace {

// So that sums of many do not overflow.
constexpr int64_t kLargest = int64_t{1} << 48;

int64_t padded_bytes(const Lifetime& lifetime) {
    TORCH_CHECK(lifetime.bytes >= 0 && lifetime.bytes <= kLargest, "a compiled graph has a tensor of ", lifetime.bytes,
                " bytes");
    const int64_t units = (lifetime.bytes + kArenaAlignment - 1) / kArenaAlignment;
    return std::max<int64_t>(1, units) * kArenaAlignment;
}

ArenaPlan placed_in_order(const std::vector<size_t>& order, const std::vector<Lifetime>& lifetimes,
                          const std::vector<int64_t>& padded) {
    ArenaPlan plan;
    plan.offsets.resize(lifetimes.size());
    std::vector<size_t> placed;  // by offset
    placed.reserve(order.size());
    const auto before = [&](int64_t offset, size_t other) { return offset < plan.offsets[other]; };
    for (const size_t own : order) {
        int64_t end = 0, best = -1, best_gap = 0;
        for (const size_t other : placed) {
            if (lifetimes[other].first > lifetimes[own].last || lifetimes[own].first > lifetimes[other].last) {
                continue;
            }
            const int64_t gap = plan.offsets[other] - end;
            if (gap >= padded[own] && (best < 0 || gap < best_gap)) {
                best = end;
                best_gap = gap;
            }
            end = std::max(end, plan.offsets[other] + padded[other]);
        }
        plan.offsets[own] = best >= 0 ? best : end;
        placed.insert(std::upper_bound(placed.begin(), placed.end(), plan.offsets[own], before), own);
        plan.bytes = std::max(plan.bytes, plan.offsets[own] + padded[own]);
    }
    return plan;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
    std::vector<int64_t> padded(lifetimes.size());
    std::transform(lifetimes.begin(), lifetimes.end(), padded.begin(), padded_bytes);
    using Key = std::pair<int64_t, int64_t>;
    const auto largest = [&](size_t k) { return Key(-padded[k], static_cast<int64_t>(lifetimes[k].first)); };
    const auto earliest = [&](size_t k) { return Key(static_cast<int64_t>(lifetimes[k].first), -padded[k]); };
    const auto longest = [&](size_t k) {
        return Key(static_cast<int64_t>(lifetimes[k].first) - static_cast<int64_t>(lifetimes[k].last), -padded[k]);
    };
    ArenaPlan best;
    bool is_first = true;
    const auto consider = [&](const auto& key) {
        std::vector<size_t> order(lifetimes.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
        ArenaPlan plan = placed_in_order(order, lifetimes, padded);
        if (is_first || plan.bytes < best.bytes) {
            best = std::move(plan);
            is_first = false;
        }
    };
    consider(largest);
    consider(earliest);
    consider(longest);
    return best;
}

}  // namespace diopigen::backend
