// Reductions whose sums are added up in an order of their own.
#pragma once

#include <algorithm>
#include <cmath>

#include "groups.h"

namespace diopigen::variants {

// The sums of the terms that `term` makes of the elements, over the dimensions that the call names.
template <typename T, typename Order, typename Term>
std::vector<T> sumsOf(const Array<T>& input, const Groups& groups, const Order& order, const Term& term) {
    std::vector<T> sums;
    for (const auto& group : groups) {
        std::vector<T> terms;
        for (const int64_t index : group) terms.push_back(term(input[index]));
        sums.push_back(order(terms));
    }
    return sums;
}

// Sum, Mean, Norm and LinalgVecNorm of floats in the accumulate type.
template <typename Order>
bool reduceInOrder(Work& work, const Order& order) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input");
        const Groups groups = groupsOf(input.shape, work.call().sizes("dim"));
        const std::string name = work.call().function();
        if (name == "Sum" || name == "Mean") {
            std::vector<T> sums = sumsOf(input, groups, order, [](T x) { return x; });
            for (size_t i = 0; name == "Mean" && i < sums.size(); ++i) sums[i] /= static_cast<T>(groups[i].size());
            return work.write("out", sums);
        }
        const double degree = work.number(name == "Norm" ? "p" : "ord");
        if (degree == 1) return work.write("out", sumsOf(input, groups, order, [](T x) { return std::fabs(x); }));
        if (degree != 2) return false;
        std::vector<T> found;
        for (const auto& group : groups) {
            // The largest size is taken out, so that no square leaves the range.
            T largest = 0;
            for (const int64_t index : group) largest = std::max(largest, std::fabs(input[index]));
            if (largest == 0 || !std::isfinite(largest)) return false;
            std::vector<T> terms;
            for (const int64_t index : group) terms.push_back(input[index] / largest * (input[index] / largest));
            found.push_back(largest * std::sqrt(order(terms)));
        }
        return work.write("out", found);
    });
}

}  // namespace diopigen::variants
