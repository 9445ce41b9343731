#include "compare.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "dtypes.h"
#include "element.h"
#include "operands.h"

namespace diopigen::dispatch {

namespace {

std::complex<double> complexAt(diopiDtype_t dtype, const char* element) {
    return {realAt(dtype, element, 0), realAt(dtype, element, 1)};
}

}  // namespace

double largestOf(const HostTensor& tensor) {
    double largest = 0;
    if (!contract::isFloating(tensor.info.dtype) && !contract::isComplex(tensor.info.dtype)) {
        return largest;
    }
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

std::optional<std::string> difference(const HostTensor& vendor, const HostTensor& reference, Tolerance tolerance,
                                      const Terms& terms) {
    const TensorInfo& info = reference.info;
    const std::string name =
        vendor.operand->name +
        (vendor.operand->kind == Kind::tensor ? std::string() : "[" + std::to_string(vendor.index) + "]");
    if (vendor.info.dtype != info.dtype || vendor.info.shape != info.shape) {
        return name + " is " + describe(vendor.info) + ", reference " + describe(info);
    }
    const bool isExact = !contract::isFloating(info.dtype) && !contract::isComplex(info.dtype);
    ResultBound bound(info.dtype, largestOf(reference));
    bound.add(tolerance, terms, info.numel);
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
        } else if (contract::isComplex(info.dtype)) {
            off = bound.excess(complexAt(info.dtype, own), complexAt(info.dtype, other));
        } else {
            off = bound.excess(realAt(info.dtype, own, 0), realAt(info.dtype, other, 0));
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
