#include "compare.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "dtypes.h"
#include "element.h"
#include "operands.h"

namespace diopigen::dispatch {

namespace {

std::complex<double> complex_at(diopiDtype_t dtype, const char* element) {
    return {real_at(dtype, element, 0), real_at(dtype, element, 1)};
}

}  // namespace

double largest_of(const HostTensor& tensor) {
    double largest = 0;
    if (!contract::is_floating(tensor.info.dtype) && !contract::is_complex(tensor.info.dtype)) {
        return largest;
    }
    Index index(tensor.info.shape);
    const int parts = contract::is_complex(tensor.info.dtype) ? 2 : 1;
    for (int64_t i = 0; i < tensor.info.numel; ++i, index.advance()) {
        for (int part = 0; part < parts; ++part) {
            const double value = real_at(tensor.info.dtype, tensor.data + index.offset(tensor.info), part);
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
        (vendor.operand->kind == Kind::kTensor ? std::string() : "[" + std::to_string(vendor.index) + "]");
    if (vendor.info.dtype != info.dtype || vendor.info.shape != info.shape) {
        return name + " is " + describe(vendor.info) + ", reference " + describe(info);
    }
    const bool is_exact = !contract::is_floating(info.dtype) && !contract::is_complex(info.dtype);
    ResultBound bound(info.dtype, largest_of(reference));
    bound.add(tolerance, terms, info.numel);
    int64_t count = 0;
    double worst = 0;
    std::string worst_text;
    Index index(info.shape);
    for (int64_t i = 0; i < info.numel; ++i, index.advance()) {
        const char* const own = vendor.data + index.offset(vendor.info);
        const char* const other = reference.data + index.offset(info);
        double off = 0;
        if (is_exact) {
            const int64_t a = integer_at(info.dtype, own);
            const int64_t b = integer_at(info.dtype, other);
            off = a == b ? 0 : 1 + std::fabs(static_cast<double>(a) - static_cast<double>(b));
        } else if (contract::is_complex(info.dtype)) {
            off = bound.excess(complex_at(info.dtype, own), complex_at(info.dtype, other));
        } else {
            off = bound.excess(real_at(info.dtype, own, 0), real_at(info.dtype, other, 0));
        }
        if (off > 1) {
            ++count;
            if (off > worst) {
                worst = off;
                worst_text = text_of(index.at()) + ": " + element_text(info.dtype, own) + ", reference " +
                             element_text(info.dtype, other);
            }
        }
    }
    if (count == 0) {
        return std::nullopt;
    }
    return name + " " + describe(info) + ": " + std::to_string(count) + " of " + std::to_string(info.numel) +
           " elements differ; worst " + worst_text;
}

}  // namespace diopigen::dispatch
