#include "diopi_cpu/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace diopi::cpu {

bool is_in_range(const Number& number, Dtype dtype) {
    bool holds = true;
    dispatch<kIntegral>(dtype, [&](auto sample) {
        using Whole = decltype(sample.value);
        const auto most = static_cast<double>(std::numeric_limits<Whole>::max());
        const auto least = std::numeric_limits<Whole>::is_signed ? -most - 1 : -most;
        if (number.is_real) {
            // 2^63 itself is a double, the largest int64 is not.
            const double value = std::trunc(number.real);
            holds = value >= least && (sizeof(Whole) == 8 ? value < most : value <= most);
        } else if (sizeof(Whole) < 8) {
            holds = number.integer >= static_cast<int64_t>(least) && number.integer <= static_cast<int64_t>(most);
        }
    });
    return holds;
}

bool are_whole(std::initializer_list<Number> numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](const Number& number) { return number.is_whole(); });
}

int64_t arange_length(const Number& start, const Number& end, const Number& step) {
    if (!start.is_real && !end.is_real && !step.is_real) {
        // In unsigned arithmetic, as the distance may exceed int64.
        const bool rises = step.integer > 0;
        const auto from = static_cast<uint64_t>(rises ? start.integer : end.integer);
        const auto to = static_cast<uint64_t>(rises ? end.integer : start.integer);
        const uint64_t pace =
            rises ? static_cast<uint64_t>(step.integer) : uint64_t{0} - static_cast<uint64_t>(step.integer);
        const uint64_t distance = to - from;
        return static_cast<int64_t>(distance / pace + (distance % pace != 0 ? 1 : 0));
    }
    return to_int64(std::ceil((end.value() - start.value()) / step.value()));
}

}  // namespace diopi::cpu
