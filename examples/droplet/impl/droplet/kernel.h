// What all kernels of droplet build on.
//
// A kernel takes the calls that the chip was made for. Any other call (a dtype that it lacks, operands of odd shapes,
// overlapping memory, wrong arguments) it leaves to others by diopiForceFallbackToCPU, before anything has happened:
// the reference library then runs it, or refuses it with the status and the text that the interface promises.
#ifndef IMPL_DROPLET_KERNEL_H_
#define IMPL_DROPLET_KERNEL_H_

#include <diopigen_sim/call.h>
#include <diopigen_sim/elements.h>

#include "droplet/error.h"

namespace impl {
namespace droplet {

using namespace diopigen::sim;

using Context = diopiContextHandle_t;
using Out = diopiTensorHandle_t;
using In = diopiConstTensorHandle_t;
using Values = std::vector<double>;  // holds every dtype of the chip but int64 exactly

constexpr diopiError_t kLeave = diopiForceFallbackToCPU;

inline diopiError_t answer(const Status& status) {
    if (status.ok()) {
        return diopiSuccess;
    }
    setLastError("%s", status.text().c_str());
    return status.code() == Code::unsupported || status.code() == Code::unsupportedDtype ? kLeave : diopiErrorOccurred;
}
inline diopiError_t run(const Call& call, std::function<void(const Kernel&)> kernel) {
    return answer(call.launch(std::move(kernel)));
}

// `visit(zero)` with a zero of the type that holds each element of a dtype exactly.
template <typename Visit>
void withValues(diopiDtype_t dtype, Visit visit) {
    isFloat(dtype) ? visit(float{0}) : visit(int64_t{0});
}

}  // namespace droplet
}  // namespace impl

#endif  // IMPL_DROPLET_KERNEL_H_
