// Scratch memory that the caller provides and this library does not need.
#ifndef DIOPI_CORE_FUNCTIONS_SERVING_WORKSPACE_H_
#define DIOPI_CORE_FUNCTIONS_SERVING_WORKSPACE_H_

#include <initializer_list>

#include "diopi_core/tensor.h"

namespace diopigen::core::serving {

// Whether a call only asks how much memory is needed.
inline bool asks_for_size(const Tensor& memory, const int64_t* size) { return memory.is_null() || *size < 0; }

// The answer to that.
inline void no_memory(std::initializer_list<int64_t*> sizes) {
    for (int64_t* size : sizes) {
        *size = 0;
    }
}

}  // namespace diopigen::core::serving

#endif  // DIOPI_CORE_FUNCTIONS_SERVING_WORKSPACE_H_
