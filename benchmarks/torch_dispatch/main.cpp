// Loops over operators of PyTorch, timed from C++: what Python adds is the same for every device.
#include <ATen/ops/add.h>
#include <torch/library.h>

#include <atomic>
#include <chrono>

namespace {

template <typename Body>
double nanoseconds(int64_t count, const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < count; ++i) {
        body();
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    return time.count() / static_cast<double>(count);
}

double addOut(const at::Tensor& a, const at::Tensor& b, at::Tensor out, int64_t count) {
    return nanoseconds(count, [&] { at::add_out(out, a, b); });
}

double add(const at::Tensor& a, const at::Tensor& b, int64_t count) {
    return nanoseconds(count, [&] { at::add(a, b); });
}

std::atomic<bool> isWatched{false};

// What a kernel pays for the run-time switches: a flag, and a branch that is not taken.
double flag(int64_t count) {
    int64_t taken = 0;
    return nanoseconds(count, [&] {
        if (isWatched.load(std::memory_order_relaxed)) [[unlikely]] {
            ++taken;
        }
        asm volatile("" : "+r"(taken));
    });
}

TORCH_LIBRARY(diopi_benchmark, library) {
    library.def("add_out(Tensor a, Tensor b, Tensor out, int count) -> float", &addOut);
    library.def("flag(int count) -> float", &flag);
    library.def("add(Tensor a, Tensor b, int count) -> float", &add);
}

}  // namespace
