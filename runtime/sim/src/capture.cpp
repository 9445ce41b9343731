#include "capture.h"

namespace diopigen::sim {

namespace {

__attribute__((tls_model("initial-exec"))) thread_local Capture* active = nullptr;  // every launch reads it

}  // namespace

Capture::Capture(const Queue& queue) : queue_(queue) { active = this; }

Capture::~Capture() { active = nullptr; }

Capture* Capture::current() { return active; }

void Capture::add(const Queue& queue, std::shared_ptr<const CapturedKernel> kernel) {
    if (&queue != &queue_ || kernel == nullptr) {
        is_complete_ = false;
    } else {
        kernels_.push_back(std::move(kernel));
    }
}

std::optional<CapturedKernels> Capture::take() {
    CapturedKernels taken = std::exchange(kernels_, {});
    return std::exchange(is_complete_, true) ? std::make_optional(std::move(taken)) : std::nullopt;
}

}  // namespace diopigen::sim
