// Results of the vendor compared with those of the reference.
#ifndef DIOPIGEN_DISPATCH_COMPARE_H_
#define DIOPIGEN_DISPATCH_COMPARE_H_

#include <optional>
#include <string>

#include "host_copy.h"

namespace diopigen::dispatch {

// What is wrong with a tensor, in one line: how many elements differ, and the worst of them. Integers and bools must be
// equal. A float may be off by the rounding of some operations in its dtype, relative to the size of its own value and
// a little of the largest value of the tensor, whose parts may have cancelled; NaN and infinities must be in the same
// places. Nothing where the tensors agree.
std::optional<std::string> difference(const HostTensor& vendor, const HostTensor& reference);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_COMPARE_H_
