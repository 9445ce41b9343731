// A tensor in one word: what generated shims ask about every tensor of every call.
#ifndef DIOPIGEN_RUNTIME_DESCRIPTION_H_
#define DIOPIGEN_RUNTIME_DESCRIPTION_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "layout.h"

namespace diopigen {

/// What diopiHostDescribeTensor answers about a dense tensor. A tensor never changes, so it keeps the answer.
uint32_t describe(const Layout& layout, diopiDtype_t dtype);

/// The same about a tensor that has no strides, or about none at all.
constexpr uint32_t kUndescribed = 1U << 31;

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_DESCRIPTION_H_
