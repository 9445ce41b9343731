// The functions of vector_math.h of one number, which loops end with: those of the C library.
#if defined(DIOPI_CPU_VECTOR_MATH)

#define DIOPI_CPU_VECTOR_MATH_DEFINITIONS
#include "diopi_core/vector_math.h"

#define DIOPI_CPU_DEFINE_UNARY(name)                                    \
    float diopi_cpu_##name##f(float value) { return std::name(value); } \
    double diopi_cpu_##name(double value) { return std::name(value); }
DIOPI_CPU_VECTOR_UNARY(DIOPI_CPU_DEFINE_UNARY)

float diopi_cpu_powf(float first, float second) { return diopigen::core::scalar_power(first, second); }
double diopi_cpu_pow(double first, double second) { return diopigen::core::scalar_power(first, second); }

#define DIOPI_CPU_DEFINE_BINARY(name)                                                         \
    float diopi_cpu_##name##f(float first, float second) { return std::name(first, second); } \
    double diopi_cpu_##name(double first, double second) { return std::name(first, second); }
DIOPI_CPU_DEFINE_BINARY(atan2)
DIOPI_CPU_DEFINE_BINARY(hypot)
DIOPI_CPU_DEFINE_BINARY(fmod)

#endif  // DIOPI_CPU_VECTOR_MATH
