#include "compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dtypes.h"
#include "element.h"
#include "operands.h"

namespace diopigen::dispatch {

namespace {

// Bits of the fraction; those of float64 for integers.
int precisionOf(diopiDtype_t dtype) {
    const int digits = dtypeFacts(dtypeFacts(dtype).real).digits;
    return digits == 0 ? 52 : digits - 1;
}

constexpr double kRoundings = 64;        // of the own value
constexpr double kLargestRoundings = 8;  // of the largest value

double largestOf(const HostTensor& tensor) {
    double largest = 0;
    Index index(tensor.info.shape);
    const int parts = contract::isComplex(tensor.info.dtype) ? 2 : 1;
    for (int64_t i = 0; i < tensor.info.numel; ++i, index.advance()) {
        for (int part = 0; part < parts; ++part) {
            const double value = realAt(tensor.info.dtype, tensor.data + index.offset(tensor.info), part);
            largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
        }
    }
    return largest;
}

// How far apart two floats are, in units of what is allowed; above 1 is too far.
double excess(double vendor, double reference, double epsilon, double largest) {
    if (std::isnan(vendor) || std::isnan(reference) || std::isinf(vendor) || std::isinf(reference)) {
        const bool isSame = (std::isnan(vendor) && std::isnan(reference)) || vendor == reference;
        return isSame ? 0 : std::numeric_limits<double>::infinity();
    }
    const double off = std::fabs(vendor - reference);
    const double allowed = epsilon * (kRoundings * std::fabs(reference) + kLargestRoundings * largest);
    return off == 0 ? 0 : allowed == 0 ? std::numeric_limits<double>::infinity() : off / allowed;
}

}  // namespace

std::optional<std::string> difference(const HostTensor& vendor, const HostTensor& reference) {
    const TensorInfo& info = reference.info;
    const std::string name =
        vendor.operand->name +
        (vendor.operand->kind == Kind::tensor ? std::string() : "[" + std::to_string(vendor.index) + "]");
    if (vendor.info.dtype != info.dtype || vendor.info.shape != info.shape) {
        return name + " is " + describe(vendor.info) + ", reference " + describe(info);
    }
    const bool isExact = !contract::isFloating(info.dtype) && !contract::isComplex(info.dtype);
    const double epsilon = std::ldexp(1.0, -precisionOf(info.dtype));
    const double largest = isExact ? 0 : largestOf(reference);
    const int parts = contract::isComplex(info.dtype) ? 2 : 1;
    int64_t count = 0;
    double worst = 0;
    std::string worstText;
    Index index(info.shape);
    for (int64_t i = 0; i < info.numel; ++i, index.advance()) {
        const char* const own = vendor.data + index.offset(vendor.info);
        const char* const other = reference.data + index.offset(info);
        double off = 0;
        if (isExact) {
            const int64_t a = integerAt(info.dtype, own);
            const int64_t b = integerAt(info.dtype, other);
            off = a == b ? 0 : 1 + std::fabs(static_cast<double>(a) - static_cast<double>(b));
        } else {
            for (int part = 0; part < parts; ++part) {
                off = std::max(
                    off, excess(realAt(info.dtype, own, part), realAt(info.dtype, other, part), epsilon, largest));
            }
        }
        if (off > 1) {
            ++count;
            if (off > worst) {
                worst = off;
                worstText = textOf(index.at()) + ": " + elementText(info.dtype, own) + ", reference " +
                            elementText(info.dtype, other);
            }
        }
    }
    if (count == 0) {
        return std::nullopt;
    }
    return name + " " + describe(info) + ": " + std::to_string(count) + " of " + std::to_string(info.numel) +
           " elements differ; worst " + worstText;
}

}  // namespace diopigen::dispatch
