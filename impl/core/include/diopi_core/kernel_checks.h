// What contracts leave to kernels: dtypes that are free (`free: [dtype]`), and memory that an algorithm needs apart.
#ifndef DIOPI_CORE_KERNEL_CHECKS_H_
#define DIOPI_CORE_KERNEL_CHECKS_H_

#include <initializer_list>
#include <string>

#include "diopi_core/tensor.h"

namespace diopigen::core {

// Refuses other dtypes for a parameter whose dtype the contract leaves to the library. Null passes.
inline void require_dtype_of(const Tensor& tensor, DtypeSet allowed) {
    if (!tensor.is_null() && !contains(allowed, tensor.dtype)) {
        fail(std::string("'") + tensor.name + "' has the dtype " + name_of(tensor.dtype) +
                 ", which the library does not support here",
             diopiDtypeNotSupported);
    }
}

inline void require_dtypes_of(DtypeSet allowed, std::initializer_list<const Tensor*> tensors) {
    for (const Tensor* tensor : tensors) {
        require_dtype_of(*tensor, allowed);
    }
}

inline void require_floating(std::initializer_list<const Tensor*> tensors) { require_dtypes_of(kFloating, tensors); }

// A result that is written while its operands are still read has no common memory with them; null ones are left out.
inline void require_apart(const Tensor& written, std::initializer_list<const Tensor*> read) {
    for (const Tensor* operand : read) {
        require_disjoint(written, *operand);
    }
}

// The same for several results, which have no common memory with one another either.
inline void require_separate(std::initializer_list<const Tensor*> written, std::initializer_list<const Tensor*> read) {
    for (const Tensor* target : written) {
        require_apart(*target, read);
        for (const Tensor* other : written) {
            if (other != target) {
                require_disjoint(*target, *other);
            }
        }
    }
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_KERNEL_CHECKS_H_
