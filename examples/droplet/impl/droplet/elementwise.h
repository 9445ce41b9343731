// The loop of droplet under the elementwise kernels that `diopigen elementwise` writes: its vector unit.
#ifndef IMPL_DROPLET_ELEMENTWISE_H_
#define IMPL_DROPLET_ELEMENTWISE_H_

#include <diopigen_kernels/elementwise.h>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

template <typename Function>
diopiError_t elementwise(Context ctx, const char* name, diopigen::elementwise::Results results,
                         diopigen::elementwise::Operands operands, Function function) {
    return answer(forEachElement(ctx, name, results, operands, function, diopigen::sim::launchAtOnceIfSmall));
}

}  // namespace droplet
}  // namespace impl

#endif  // IMPL_DROPLET_ELEMENTWISE_H_
