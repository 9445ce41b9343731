// What the processor offers beyond what kernels are compiled for.
#ifndef DIOPIGEN_KERNELS_PROCESSOR_H_
#define DIOPIGEN_KERNELS_PROCESSOR_H_

namespace diopigen::kernels {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
inline bool hasAvx2() {
    static const bool found = __builtin_cpu_supports("avx2");
    return found;
}
template <typename Function>
[[gnu::target("avx2"), gnu::flatten]] void runWithAvx2(const Function& function) {
    function();
}

/// Runs loops with the vectors of most processors, where this one has them. Without fused operations: results are the
/// same on all.
template <typename Function>
void withVectors(const Function& function) {
    hasAvx2() ? runWithAvx2(function) : function();
}
#else
/// Runs loops as they are compiled.
template <typename Function>
void withVectors(const Function& function) {
    function();
}
#endif

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_PROCESSOR_H_
