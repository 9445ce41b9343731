// Loops compiled once for each instruction set, of which the loader picks the best that the machine has. Templates may
// carry the mark too; what such a function calls must be inlined into it to profit.
#ifndef DIOPI_CPU_CLONES_H_
#define DIOPI_CPU_CLONES_H_

// Clang 14 clones no templates, and the sanitizers do not bear functions that the loader chooses.
#if !defined(DIOPI_CPU_CLONES)
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DIOPI_CPU_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define DIOPI_CPU_CLONES
#endif
#endif

#endif  // DIOPI_CPU_CLONES_H_
