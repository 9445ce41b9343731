// The shapes of classification losses: (C) or (N, C, ...), as N samples with C classes at S places each.
#ifndef DIOPI_CPU_CLASSES_H_
#define DIOPI_CPU_CLASSES_H_

#include <cstdint>
#include <vector>

#include "diopi_cpu/dense.h"

namespace diopi::cpu {

struct Classes {
    int64_t samples = 1;
    int64_t classes = 1;
    int64_t places = 1;
    std::vector<int64_t> without;  // the shape without the class dimension

    int64_t count() const { return samples * places; }
    // Where the logits of a sample begin, and the step from class to class.
    int64_t first(int64_t at) const { return at / places * classes * places + at % places; }
};

inline Classes classes_of(const Tensor& input) {
    require_rank(input, 1);
    Classes result;
    const int64_t dim = input.rank == 1 ? 0 : 1;
    for (int64_t i = 0; i < input.rank; ++i) {
        (i < dim ? result.samples : i == dim ? result.classes : result.places) *= input.shape[i];
        if (i != dim) {
            result.without.push_back(input.shape[i]);
        }
    }
    return result;
}

inline void check_reduction(diopiReduction_t reduction) {
    require(reduction == ReductionNone || reduction == ReductionMean || reduction == ReductionSum,
            "parameter 'reduction' is not one of its values");
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_CLASSES_H_
