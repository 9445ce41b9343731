#include <cmath>
#include <limits>

#include "diopi_core/math.h"

namespace diopigen::core {

double erfinv(double x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSlope = 1.1283791670955126;  // 2 / sqrt(pi)
    const double size = std::abs(x);
    if (!(size < 1)) {
        return size == 1 ? std::copysign(kInfinity, x) : std::numeric_limits<double>::quiet_NaN();
    }
    double w = -std::log1p(-size * size);
    double y;
    if (w < 5) {
        w -= 2.5;
        y = 2.81022636e-08;
        for (const double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                               -0.00417768164, 0.246640727, 1.50140941}) {
            y = y * w + c;
        }
    } else {
        w = std::sqrt(w) - 3;
        y = -0.000200214257;
        for (const double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                               0.00943887047, 1.00167406, 2.83297682}) {
            y = y * w + c;
        }
    }
    y *= size;
    for (int step = 0; step < 3; ++step) {
        const double error = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
        y -= error / (kSlope * std::exp(-y * y));
    }
    return std::copysign(y, x);
}

// The reentrant form: the standard one writes a global variable.
double lgamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

}  // namespace diopigen::core
