// Products of rows of floats with rows of stored elements, for the libraries of all devices.
#ifndef DIOPIGEN_KERNELS_SERVING_PRODUCTS_H_
#define DIOPIGEN_KERNELS_SERVING_PRODUCTS_H_

#include <diopigen/float8.h>
#include <diopigen_kernels/host_device.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// A number of one byte, as it is in memory.
template <Float8 kFormat>
struct StoredFloat8 {
    uint8_t bits;
    DIOPI_HOST_DEVICE explicit operator float() const { return float_of_float8(kFormat, bits); }
};

/// The sum of x[i] * y[i * step]: eight partial sums, which a compiler keeps in vectors.
template <typename Element>
DIOPI_HOST_DEVICE float dot(const float* x, const Element* y, int64_t step, int64_t size) {
    constexpr int kLanes = 8;
    float lanes[kLanes] = {};
    int64_t i = 0;
    if (step == 1) {
        for (; i + kLanes <= size; i += kLanes) {
            for (int lane = 0; lane < kLanes; ++lane) {
                lanes[lane] += x[i + lane] * static_cast<float>(y[i + lane]);
            }
        }
    }
    for (; i < size; ++i) {
        lanes[i % kLanes] += x[i] * static_cast<float>(y[i * step]);
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_PRODUCTS_H_
