// What the processor offers beyond what kernels are compiled for.
#ifndef DIOPIGEN_KERNELS_PROCESSOR_H_
#define DIOPIGEN_KERNELS_PROCESSOR_H_

namespace diopigen::kernels {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
/// Loops have a version with these vectors, which is selected when they run.
#define DIOPIGEN_KERNELS_HAS_AVX2 1
inline bool hasAvx2() {
    static const bool found = __builtin_cpu_supports("avx2");
    return found;
}
template <typename Function>
[[gnu::target("avx2"), gnu::flatten]] void runWithAvx2(const Function& function) {
    function();
}
#endif

/// Runs loops with the vectors of most processors, where this one has them. Without fused operations: results are the
/// same on all.
template <typename Function>
void withVectors(const Function& function) {
#if defined(DIOPIGEN_KERNELS_HAS_AVX2)
    if (hasAvx2()) {
        runWithAvx2(function);
        return;
    }
#endif
    function();
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_PROCESSOR_H_
