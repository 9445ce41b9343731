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
#endif

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_PROCESSOR_H_
