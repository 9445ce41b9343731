// Dtypes that contracts leave free: a library says itself which ones it takes.
#ifndef DIOPI_CORE_FREE_DTYPE_H_
#define DIOPI_CORE_FREE_DTYPE_H_

#include <string>

#include "diopi_core/tensor.h"

namespace diopigen::core {

inline void require_dtype_in(const Tensor& tensor, DtypeSet allowed) {
    if (!tensor.is_null() && !contains(allowed, tensor.dtype)) {
        fail(std::string("this library has no kernel for '") + tensor.name + "' of the dtype " + name_of(tensor.dtype),
             diopiDtypeNotSupported);
    }
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FREE_DTYPE_H_
