// How the operators of this folder launch: their kernels read and write elements by elements.h.
#ifndef DIOPIGEN_KERNELS_OPERATORS_LAUNCHED_H_
#define DIOPIGEN_KERNELS_OPERATORS_LAUNCHED_H_

#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>

#include <utility>

namespace diopigen::kernels::operators {

/// Call::launch, for calls whose elements can be loaded and stored; others are left to a fallback.
template <typename Launch, typename Function>
Status launched(const Call& call, const Launch& launch, Function&& kernel) {
    if (!call.all([](diopiDtype_t dtype) { return isLoadable(dtype); })) {
        return call.rejected();
    }
    return call.launch(launch, std::forward<Function>(kernel));
}

}  // namespace diopigen::kernels::operators

#endif  // DIOPIGEN_KERNELS_OPERATORS_LAUNCHED_H_
