// Cubic convolution with A = -0.75 (R. Keys, "Cubic convolution interpolation for digital image processing", 1981).
#ifndef DIOPI_CORE_CUBIC_H_
#define DIOPI_CORE_CUBIC_H_

#include <array>

#include "diopi_core/host_device.h"

namespace diopigen::core {

// The weights of the elements at -1, 0, 1 and 2 for a position between 0 and 1.
DIOPI_HOST_DEVICE inline std::array<double, 4> cubic_weights(double position) {
    constexpr double kA = -0.75;
    const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
    const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
    return {far(1 + position), near(position), near(1 - position), far(2 - position)};
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_CUBIC_H_
