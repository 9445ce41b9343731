// Rules of index tensors that kernels check, since the host does not see elements.
#ifndef DIOPI_CORE_FUNCTIONS_LLM_ELEMENT_RULES_H_
#define DIOPI_CORE_FUNCTIONS_LLM_ELEMENT_RULES_H_

#include <cstdint>

#include "diopi_core/host_device.h"
#include "diopi_library/each.h"
#include "diopi_library/element_check.h"

namespace diopigen::core {

// An owner for each number.
template <typename Finding>
struct NumberIsWithin {
    const int64_t* numbers;
    int64_t least;
    int64_t end;
    Finding outside;

    DIOPI_HOST_DEVICE void operator()(int64_t i) const {
        if (numbers[i] < least || numbers[i] >= end) {
            outside(numbers[i]);
        }
    }
};

// Rejects the call with `text` unless all numbers are in [least, end).
inline void require_within(const int64_t* numbers, int64_t count, int64_t least, int64_t end, const char* text) {
    ElementCheck check(text);
    Each()(count, 1, NumberIsWithin<decltype(check.finding())>{numbers, least, end, check.finding()});
    check.conclude();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_LLM_ELEMENT_RULES_H_
