// The arguments of CrossEntropyLoss.
#ifndef DIOPI_CORE_CROSS_ENTROPY_H_
#define DIOPI_CORE_CROSS_ENTROPY_H_

#include "classes.h"

namespace diopigen::core {

// What the loss is computed from.
struct CrossEntropyProblem {
    // `Args`: those of the loss or of its gradient.
    template <typename Args>
    explicit CrossEntropyProblem(const Args& args)
        : input(args.input),
          target(args.target),
          weight(args.weight),
          sizes(classes_of(input)),
          reduction(args.reduction),
          ignored(args.ignore_index),
          label_smoothing(args.label_smoothing),
          has_indices(target.dtype == Dtype::kInt64) {}

    Tensor input;
    Tensor target;
    Tensor weight;
    Classes sizes;
    diopiReduction_t reduction;
    int64_t ignored;
    double label_smoothing;
    bool has_indices;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_CROSS_ENTROPY_H_
