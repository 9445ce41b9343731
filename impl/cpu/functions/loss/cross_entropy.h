// The arguments of CrossEntropyLoss.
#ifndef DIOPI_CPU_CROSS_ENTROPY_H_
#define DIOPI_CPU_CROSS_ENTROPY_H_

#include "classes.h"

namespace diopi::cpu {

// What the loss is made of, checked.
struct CrossEntropyProblem {
    CrossEntropyProblem(const Tensor& written, const Tensor& logits, const Tensor& wanted, const Tensor& factors,
                        diopiReduction_t mode, int64_t ignored_class, double smoothing)
        : input(logits),
          target(wanted),
          weight(factors),
          sizes(classes_of(input)),
          reduction(mode),
          ignored(ignored_class),
          label_smoothing(smoothing),
          has_indices(target.dtype == Dtype::kInt64) {
        require(label_smoothing >= 0 && label_smoothing <= 1,
                "label_smoothing.range: label_smoothing is at least 0 and at most 1");
        require(is_same_shape(target, input) || shape_of(target) == sizes.without,
                "C2: the shape of target is that of input, or that of input without its class dimension");
        if (has_indices) {
            require_shape(target, sizes.without);
        } else {
            require(is_same_shape(target, input) && target.dtype == input.dtype,
                    "C3: class probabilities have the dtype and shape of input");
            require(ignored < 0, "C4: ignore_index is negative for class probabilities");
        }
        check_classification(written, input, target, weight, sizes, reduction);
    }

    Tensor input;
    Tensor target;
    Tensor weight;
    Classes sizes;
    diopiReduction_t reduction;
    int64_t ignored;
    double label_smoothing;
    bool has_indices;
};

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_CROSS_ENTROPY_H_
