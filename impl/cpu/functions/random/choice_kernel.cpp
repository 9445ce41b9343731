// Randperm (Fisher and Yates) and Multinomial. The loops.
#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_core/reduction.h"
#include "random/random_kernels.h"
#include "random/sample.h"

namespace diopigen::core {

namespace {

// Samples with replacement: where a number falls among the running sums of the weights.
void sample_fractions(const double* weights, int64_t categories, int64_t first, int64_t count, const Stream& stream,
                      Int64* result) {
    std::vector<double> sums(weights, weights + categories);
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    for (int64_t i = 0; i < count; ++i) {
        const double at = unit(stream(first + i), 0) * sums.back();
        auto found = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
        // The product may be rounded up to the total: then it is the last category that has a weight.
        if (found == categories) {
            found = std::lower_bound(sums.begin(), sums.end(), sums.back()) - sums.begin();
        }
        result[i] = Int64(int64_t{found});
    }
}

// Samples without replacement: each category waits for an exponential time over its weight, and the first ones
// come out (Efraimidis and Spirakis, 2006).
void sample_first(const double* weights, int64_t categories, int64_t first, int64_t count, const Stream& stream,
                  Int64* result) {
    std::vector<double> times(static_cast<size_t>(categories));
    std::vector<int64_t> order;
    for (int64_t c = 0; c < categories; ++c) {
        if (weights[c] > 0) {
            times[c] = -std::log1p(-unit(stream(first + c), 0)) / weights[c];
            order.push_back(c);
        }
    }
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](int64_t a, int64_t b) { return times[a] != times[b] ? times[a] < times[b] : a < b; });
    for (int64_t i = 0; i < count; ++i) {
        result[i] = Int64(order[i]);
    }
}

}  // namespace

void permute(const Tensor& target, int64_t n, diopiGeneratorHandle_t generator) {
    const Stream stream(generator);
    stream.advance();
    const Output<Int64> order(target);
    for (int64_t i = 0; i < n; ++i) {
        order[i] = Int64(i);
    }
    // The partners of a block of elements are sampled first, in one loop; the swaps follow each other.
    constexpr int64_t kBlock = detail::kSampleBlock;
    int64_t partners[kBlock];
    for (int64_t first = (n - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
        const int64_t count = std::min(kBlock, n - first);
        detail::sample_block(partners, stream, first, count, [](int64_t i, const RandomBits& bits) {
            return static_cast<int64_t>(below(static_cast<uint64_t>(i) + 1, bits, 0));
        });
        for (int64_t i = count; i-- > 0;) {
            std::swap(order[first + i], order[partners[i]]);
        }
    }
    order.store();
}

void choose(const Tensor& target, const Tensor& weight_tensor, int64_t rows, int64_t categories, int64_t num_samples,
            bool replacement, diopiGeneratorHandle_t generator) {
    const Input<double> weights(weight_tensor);
    for (int64_t row = 0; row < rows; ++row) {
        int64_t positive = 0;
        bool is_valid = true;
        for (int64_t i = row * categories; i < (row + 1) * categories; ++i) {
            is_valid = is_valid && weights[i] >= 0 && std::isfinite(weights[i]);
            positive += weights[i] > 0 ? 1 : 0;
        }
        require(is_valid && positive >= (replacement ? 1 : num_samples),
                "C5: weights are finite and not negative, and as many are positive in each row as are drawn from it");
    }
    const Stream stream(generator);
    stream.advance();
    const Output<Int64> result(target);
    const auto sample_row = replacement ? sample_fractions : sample_first;
    const int64_t bits = replacement ? num_samples : categories;
    parallel_for(rows, row_grain(8 * (categories + num_samples)), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            sample_row(weights.data() + row * categories, categories, row * bits, num_samples, stream,
                       result.data() + row * num_samples);
        }
    });
    result.store();
}

}  // namespace diopigen::core
