// Results of the vendor compared with those of the reference.
#ifndef DIOPIGEN_DISPATCH_COMPARE_H_
#define DIOPIGEN_DISPATCH_COMPARE_H_

#include <diopigen/tolerance.h>

#include <optional>
#include <string>

#include "host_copy.h"

namespace diopigen::dispatch {

// The largest finite number of a floating tensor; 0 for another one.
double largest_of(const HostTensor& tensor);

// What is wrong with a tensor, in one line: how many elements differ, and the worst of them. Integers and bools must be
// equal, floats within the bound of the operator's tolerance class (diopigen/tolerance.h). Nothing where the tensors
// agree.
std::optional<std::string> difference(const HostTensor& vendor, const HostTensor& reference, Tolerance tolerance,
                                      const Terms& terms);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_COMPARE_H_
