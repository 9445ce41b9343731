// Orders in which the terms of a sum may be added up, all in the accumulate type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diopigen::variants {

// One after another.
struct InSequence {
    template <typename T>
    T operator()(const std::vector<T>& terms) const {
        T sum = 0;
        for (const T term : terms) sum += term;
        return sum;
    }
};

// Halves added up apart, down to eight terms, as NumPy does it.
struct Pairwise {
    template <typename T>
    T operator()(const std::vector<T>& terms) const {
        return part(terms.data(), static_cast<int64_t>(terms.size()));
    }
    template <typename T>
    static T part(const T* terms, int64_t count) {
        if (count > 8) return part(terms, count / 2) + part(terms + count / 2, count - count / 2);
        T sum = 0;
        for (int64_t i = 0; i < count; ++i) sum += terms[i];
        return sum;
    }
};

// 32 lanes take every 32nd term each, then exchange their sums in five steps, as a warp of a GPU does it.
struct ByLanes {
    template <typename T>
    T operator()(const std::vector<T>& terms) const {
        constexpr int64_t kLanes = 32;
        T lanes[kLanes] = {};
        const auto count = static_cast<int64_t>(terms.size());
        for (int64_t i = 0; i < count; ++i) lanes[i % kLanes] += terms[static_cast<size_t>(i)];
        for (int64_t step = kLanes / 2; step > 0; step /= 2) {
            for (int64_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
        }
        return lanes[0];
    }
};

}  // namespace diopigen::variants
