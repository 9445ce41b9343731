// Functions of <cmath> that loops over float arrays call on vectors.
#ifndef DIOPIGEN_KERNELS_VECTOR_MATH_H_
#define DIOPIGEN_KERNELS_VECTOR_MATH_H_

#include <cmath>

// The C library has these on vectors (libmvec, within 4 units in the last place), but tells the compiler with
// -ffast-math alone. Loops are made of them with -O3 -fno-math-errno.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
extern "C" __attribute__((simd("notinbranch"))) float expf(float) noexcept;
#endif

#endif  // DIOPIGEN_KERNELS_VECTOR_MATH_H_
