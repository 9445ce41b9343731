// Transcendental functions as far off as NVIDIA documents its own at most (CUDA C++ Programming Guide, "Mathematical
// Functions"): results stand so many units in the last place above and below the exact number by turns. Halves are
// computed in float32 and rounded.
#include <cmath>

#include "../elementwise.h"

namespace diopigen::variants {

namespace {

using Wide = long double;

struct Limit {
    const char* functions;
    Wide (*exact)(Wide);
    int units;        // of float32
    int unitsDouble;  // of float64
};

const Limit kLimits[] = {
    {"Exp ExpInp", std::exp, 2, 1},       {"Expm1 Expm1Inp", std::expm1, 1, 1}, {"Log LogInp", std::log, 1, 1},
    {"Log2 Log2Inp", std::log2, 1, 1},    {"Log10 Log10Inp", std::log10, 2, 1}, {"Log1p Log1pInp", std::log1p, 1, 1},
    {"Sin SinInp", std::sin, 2, 2},       {"Cos CosInp", std::cos, 2, 2},       {"Tan TanInp", std::tan, 4, 2},
    {"Asin AsinInp", std::asin, 2, 2},    {"Acos AcosInp", std::acos, 2, 2},    {"Atan AtanInp", std::atan, 2, 2},
    {"Sinh SinhInp", std::sinh, 3, 2},    {"Cosh CoshInp", std::cosh, 2, 1},    {"Tanh TanhInp", std::tanh, 2, 2},
    {"Asinh AsinhInp", std::asinh, 3, 3}, {"Acosh AcoshInp", std::acosh, 4, 3}, {"Atanh AtanhInp", std::atanh, 3, 2},
    {"Erf ErfInp", std::erf, 2, 2},
};

// The number of the type that is furthest from `exact` within so many units in the last place; ordinary results that
// are no integers only, as what is exact stays exact.
template <typename T>
T furthest(Wide exact, int units, bool above) {
    const T nearest = static_cast<T>(exact);
    if (!std::isnormal(nearest) || nearest == std::nearbyint(nearest)) return nearest;
    const T unit = std::nextafter(std::fabs(nearest), static_cast<T>(HUGE_VAL)) - std::fabs(nearest);
    T found = nearest;
    for (;;) {
        const T next = std::nextafter(found, static_cast<T>(above ? HUGE_VAL : -HUGE_VAL));
        if (!(std::fabs(next - exact) <= units * static_cast<Wide>(unit))) return found;
        found = next;
    }
}

bool compute(Work& work) {
    for (const Limit& limit : kLimits) {
        if (!named(limit.functions)(work.call().signature())) continue;
        bool above = false;
        return elementwise(work, {"input"}, [&](auto x) {
            using T = decltype(x);
            above = !above;
            return furthest<T>(limit.exact(x), sizeof(T) == sizeof(float) ? limit.units : limit.unitsDouble, above);
        });
    }
    return false;
}

std::vector<Variant> variants() {
    std::string functions;
    for (const Limit& limit : kLimits) functions += std::string(limit.functions) + " ";
    return {{"units-in-the-last-place", "transcendental functions are off by the units that CUDA documents",
             named(functions.c_str()), replaced(compute)}};
}

const Registration registration("transcendental", variants());

}  // namespace

}  // namespace diopigen::variants
