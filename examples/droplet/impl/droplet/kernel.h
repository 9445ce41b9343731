// What all kernels of droplet build on.
//
// A kernel takes the calls that the chip was made for. Any other call (a dtype that it lacks, operands of odd shapes,
// overlapping memory, wrong arguments) it leaves to others by diopiForceFallbackToCPU, before anything has happened:
// the reference library then runs it, or refuses it with the status and the text that the interface promises.
#ifndef IMPL_DROPLET_KERNEL_H_
#define IMPL_DROPLET_KERNEL_H_

#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_sim/launch.h>

#include "droplet/error.h"

namespace impl {
namespace droplet {

using namespace diopigen::kernels;

inline diopiError_t answer(const Status& status) {
    if (status.ok()) {
        return diopiSuccess;
    }
    setLastError("%s", status.text().c_str());
    return status.code() == Code::unsupported || status.code() == Code::unsupportedDtype ? diopiForceFallbackToCPU
                                                                                         : diopiErrorOccurred;
}
template <typename Function>
diopiError_t run(const Call& call, Function kernel) {
    return answer(call.launch(diopigen::sim::launchAtOnceIfSmall, std::move(kernel)));
}

// The call is left to others, for the check that failed last, or for `why`.
inline diopiError_t leave(const Call& call, const char* why = nullptr) { return answer(call.rejected(why)); }

}  // namespace droplet
}  // namespace impl

#endif  // IMPL_DROPLET_KERNEL_H_
