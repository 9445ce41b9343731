// The CTC loss over logarithms to the base 2, with the exponentials of distances to the largest of the three states.
#include <algorithm>
#include <cmath>

#include "../work.h"

namespace diopigen::variants {

namespace {

template <typename T>
T logSum(T a, T b, T c) {
    const T largest = std::max(a, std::max(b, c));
    if (largest == -HUGE_VAL) return largest;
    return largest + std::log2(std::exp2(a - largest) + std::exp2(b - largest) + std::exp2(c - largest));
}

bool compute(Work& work) {
    return inAccumulateType(work.dtype("log_probs"), [&](auto zero) {
        using T = decltype(zero);
        constexpr T kLog2E = static_cast<T>(1.4426950408889634), kLn2 = static_cast<T>(0.6931471805599453);
        const T none = -HUGE_VAL;
        const Array<T> chances = work.read<T>("log_probs");
        const View targets = work.call().tensor("targets"), inputLengths = work.call().tensor("input_lengths");
        const View targetLengths = work.call().tensor("target_lengths"), alphas = work.call().tensor("log_alpha");
        const int64_t samples = chances.size(1), classes = chances.size(2), blank = work.integer("blank");
        const int64_t steps = alphas.size(1), states = alphas.size(2);
        if (!alphas.valid() || chances.size(0) == 0) return false;
        std::vector<T> found(static_cast<size_t>(alphas.count()), none), losses;
        int64_t joined = 0;
        T total = 0;
        std::vector<T> reduced;
        for (int64_t n = 0; n < samples; ++n) {
            const int64_t length = targetLengths.integerAt(n), own = 2 * length + 1, last = inputLengths.integerAt(n);
            const int64_t start = targets.rank() == 2 ? n * targets.size(1) : joined;
            joined += length;
            const auto label = [&](int64_t s) { return s % 2 == 0 ? blank : targets.integerAt(start + s / 2); };
            const auto alpha = [&](int64_t t, int64_t s) -> T& {
                return found[static_cast<size_t>((n * steps + t) * states + s)];
            };
            for (int64_t t = 0; t < last; ++t) {
                for (int64_t s = 0; s < own; ++s) {
                    T before = t == 0 ? (s < 2 ? T(0) : none) : alpha(t - 1, s);
                    if (t > 0) {
                        const bool skips = s > 1 && label(s) != label(s - 2);
                        before = logSum(before, s > 0 ? alpha(t - 1, s - 1) : none, skips ? alpha(t - 1, s - 2) : none);
                    }
                    alpha(t, s) = before + chances[(t * samples + n) * classes + label(s)] * kLog2E;
                }
            }
            T loss = last == 0
                         ? (own == 1 ? T(0) : T(HUGE_VAL))
                         : -kLn2 * logSum(alpha(last - 1, own - 1), own > 1 ? alpha(last - 1, own - 2) : none, none);
            losses.push_back(loss);
            if (std::isinf(loss) && work.number("zero_infinity") != 0) loss = 0;
            if (work.number("reduction") == 1) loss /= static_cast<T>(std::max<int64_t>(length, 1));
            reduced.push_back(loss);
            total += loss;
        }
        for (T& number : found) number *= kLn2;
        bool written = work.write("log_alpha", found) && work.write("neg_log_likelihood", losses);
        if (work.number("reduction") == 0) return work.write("out", reduced) && written;
        if (work.number("reduction") == 1) total /= static_cast<T>(samples);
        return work.write<T>("out", {total}) && written;
    });
}

const Registration registration("loss", {{"ctc-in-base-2", "the CTC loss adds up chances as logarithms to the base 2",
                                          named("CTCLoss"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
