// Loops compiled once for each instruction set, of which the loader picks the best that the machine has. Templates may
// carry the mark too; what it calls must be inlined into it to profit. capability.cpp: how a variable limits the
// choice.
#ifndef DIOPI_CORE_CLONES_H_
#define DIOPI_CORE_CLONES_H_

// Three levels, named rather than processors: of "arch=haswell" GCC asks for the vendor of the machine too, and passes
// over AMD. Clang 14 clones no templates, the sanitizers do not bear functions that the loader chooses, and a build
// that names its instruction set (DIOPI_CPU_ONE_ARCH) needs that one alone.
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(DIOPI_CPU_ONE_ARCH) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DIOPI_CPU_LEVELS
#define DIOPI_CPU_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#elif defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
// NEON is part of the baseline. A loop is a function of its own as above, where its instructions are found and counted.
#define DIOPI_CPU_CLONES __attribute__((noinline))
#else
#define DIOPI_CPU_CLONES
#endif

// The loop that follows has no dependence between elements: outputs are disjoint from inputs or exactly the same.
#if defined(__clang__)
#define DIOPI_CPU_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DIOPI_CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

// The short loop that follows stays one until it is vectorised. GCC unrolls it first, and then looks for vectors in the
// loop around it.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define DIOPI_CPU_ROLLED _Pragma("GCC unroll 1")
#else
#define DIOPI_CPU_ROLLED
#endif

// The loop that follows has so few instructions that counting is a good part of them: four rounds at once.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define DIOPI_CPU_UNROLLED _Pragma("GCC unroll 4")
#else
#define DIOPI_CPU_UNROLLED
#endif

#endif  // DIOPI_CORE_CLONES_H_
