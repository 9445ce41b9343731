// Lists of tensors as operators get them.
#ifndef DIOPI_CPU_LISTS_H_
#define DIOPI_CPU_LISTS_H_

#include <vector>

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// No tensor of a list that is written may overlap another one of the list.
inline void require_apart(const std::vector<Tensor>& written) {
    for (size_t k = 0; k < written.size(); ++k) {
        for (size_t i = 0; i < k; ++i) {
            require_disjoint(written[k], written[i]);
        }
    }
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_LISTS_H_
