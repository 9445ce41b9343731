// What compilers are asked for so that loops over elements become vector code.
#ifndef DIOPI_CPU_VECTORIZE_H_
#define DIOPI_CPU_VECTORIZE_H_

// The loop that follows has no dependence between elements: outputs are disjoint from inputs or exactly the same.
#if defined(__clang__)
#define DIOPI_CPU_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DIOPI_CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

// A function compiled once for every x86-64 machine, once for those with AVX2 and once for those with AVX-512; the
// loader takes the best that the machine has. What the function calls inline is compiled with it. The levels are named
// rather than processors: GCC asks "arch=haswell" of the maker too, and would answer no on an AMD machine with AVX2.
// Not where the build names an instruction set (DIOPI_CPU_ONE_ARCH), nor under the sanitizers, which run before the
// loader has resolved such functions.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(DIOPI_CPU_ONE_ARCH) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DIOPI_CPU_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define DIOPI_CPU_CLONES
#endif

#endif  // DIOPI_CPU_VECTORIZE_H_
