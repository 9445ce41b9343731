// How kernels that libraries share (impl/core/kernels) reject a call for what its elements are: the host need not wait.
#ifndef DIOPI_LIBRARY_ELEMENT_CHECK_H_
#define DIOPI_LIBRARY_ELEMENT_CHECK_H_

#include "diopi_cuda/check.h"

namespace diopigen::core {

using ElementCheck = cuda::Check;

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_ELEMENT_CHECK_H_
