// The run-time switches.
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/kernel.h>

namespace diopigen::backend {

std::atomic<bool> isWatched{false};
thread_local bool isInside = false;

void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    isInside = true;
    op.callBoxedForDispatchKey(c10::DispatchKey::PrivateUse1, *stack);
}

}  // namespace diopigen::backend
