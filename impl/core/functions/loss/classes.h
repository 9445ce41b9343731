// The shapes of classification losses: (C) or (N, C, ...), as N samples with C classes at S positions each.
#ifndef DIOPI_CORE_CLASSES_H_
#define DIOPI_CORE_CLASSES_H_

#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "diopi_core/promotion.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

struct Classes {
    int64_t samples = 1;
    int64_t classes = 1;
    int64_t inner = 1;
    std::vector<int64_t> without;  // the shape without the class dimension

    int64_t count() const { return samples * inner; }
    // Where the logits of a sample begin, and the stride between classes.
    int64_t first(int64_t at) const { return at / inner * classes * inner + at % inner; }
};

inline Classes classes_of(const Tensor& input) {
    Classes result;
    const int64_t dim = input.rank == 1 ? 0 : 1;
    for (int64_t i = 0; i < input.rank; ++i) {
        (i < dim ? result.samples : i == dim ? result.classes : result.inner) *= input.shape[i];
        if (i != dim) {
            result.without.push_back(input.shape[i]);
        }
    }
    return result;
}

// The dtype in which a loss of single elements is computed: that of the input, or wider where the target's is.
inline Dtype loss_dtype(const Tensor& input, const Tensor& target) { return promote({input, target}); }

inline void check_indices(const Input<Int64>& target, const Classes& sizes, int64_t ignored, const char* message) {
    for (int64_t i = 0; i < sizes.count(); ++i) {
        const int64_t class_index = target[i].value;
        require(class_index == ignored || (class_index >= 0 && class_index < sizes.classes), message);
    }
}

// The loss of a sample, and its part of what the mean divides by.
struct Weighed {
    double loss = 0;
    double mean_weight = 0;
};

// Stores the losses of all samples, their sum, or their mean. Returns the sum of these weights. The sums run in the
// order of the samples, whatever the number of threads.
template <typename T, typename Loss>
double reduce_samples(const Output<T>& out, int64_t count, int64_t grain, diopiReduction_t reduction, Loss&& loss) {
    std::vector<Weighed> samples(static_cast<size_t>(count));
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            samples[i] = loss(i);
        }
    });
    Weighed total;
    for (int64_t i = 0; i < count; ++i) {
        total.loss += samples[i].loss;
        total.mean_weight += samples[i].mean_weight;
        if (reduction == ReductionNone) {
            out[i] = static_cast<T>(samples[i].loss);
        }
    }
    if (reduction != ReductionNone) {
        out[0] = static_cast<T>(reduction == ReductionMean ? total.loss / total.mean_weight : total.loss);
    }
    return total.mean_weight;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_CLASSES_H_
