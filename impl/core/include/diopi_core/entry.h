// What a kernel is called with. generated/entry declares its arguments and the kernel itself.
#ifndef DIOPI_CORE_ENTRY_H_
#define DIOPI_CORE_ENTRY_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "diopi_core/tensor.h"

// A kernel that a library does not define is a null pointer.
#define DIOPI_OPTIONAL __attribute__((weak, visibility("hidden")))

namespace diopigen::entry {

using core::Number;
using core::Tensor;

}  // namespace diopigen::entry

#endif  // DIOPI_CORE_ENTRY_H_
