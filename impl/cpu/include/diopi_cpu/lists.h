// Lists of tensors as operators get them: an array of handles and its length.
#ifndef DIOPI_CPU_LISTS_H_
#define DIOPI_CPU_LISTS_H_

#include <string>
#include <vector>

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// The tensors of a list, which may be null where it is empty; their dtypes are of `allowed`.
template <typename Handle>
std::vector<Tensor> tensor_list(const char* name, Handle* handles, const char* count_name, int64_t count,
                                DtypeSet allowed) {
    if (count < 0) {
        fail(std::string("parameter '") + count_name + "' is negative");
    }
    if (count > 0 && handles == nullptr) {
        fail(std::string("parameter '") + name + "' is null");
    }
    std::vector<Tensor> found;
    for (int64_t k = 0; k < count; ++k) {
        found.push_back(tensor(name, handles[k], allowed));
    }
    return found;
}

// No tensor of a list that is written may overlap itself or another one of the list.
inline void require_apart(const std::vector<Tensor>& written) {
    for (size_t k = 0; k < written.size(); ++k) {
        require_no_overlap(written[k]);
        for (size_t i = 0; i < k; ++i) {
            require_disjoint(written[k], written[i]);
        }
    }
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_LISTS_H_
