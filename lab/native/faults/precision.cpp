// Results that are less precise than their dtype.
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// Outputs of a dtype go through a function of their numbers.
Behaviour rounded(diopiDtype_t dtype, double (*round)(double)) {
    return afterwards([=](const View& view) {
        if (view.dtype() != dtype) return false;
        bool changed = false;
        for (int64_t index = 0; index < view.count(); ++index) {
            const double number = view.real(index), other = round(number);
            if (other == number || number != number) continue;
            view.setReal(index, other);
            changed = true;
        }
        return changed;
    });
}

// A product whose terms are added up in float16: a matrix of [rows, inner] by one of [inner, columns].
bool productInHalf(const View& out, const View& one, const View& two) {
    if (out.dtype() != diopi_dtype_float16 || out.rank() != 2 || one.rank() != 2 || two.rank() != 2) return false;
    const int64_t inner = one.size(1), columns = out.size(1);
    for (int64_t index = 0; index < out.count(); ++index) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
            const double term = one.real(index / columns * inner + k) * two.real(k * columns + index % columns);
            sum = throughFloat16(sum + throughFloat16(term));
        }
        out.setReal(index, sum);
    }
    return inner > 2;
}

bool runningSumInHalf(const View& out, const View& input, int64_t dim) {
    if (out.dtype() != diopi_dtype_float16 || input.dtype() != diopi_dtype_float16 || out.count() == 0) return false;
    const int64_t own = dim < 0 ? dim + out.rank() : dim;
    int64_t stride = 1;
    for (int64_t d = own + 1; d < out.rank(); ++d) stride *= out.size(d);
    const int64_t size = out.rank() > 0 ? out.size(own) : 1;
    for (int64_t index = 0; index < out.count(); ++index) {
        const double before = index / stride % size == 0 ? 0 : out.real(index - stride);
        out.setReal(index, before + input.real(index));
    }
    return size > 2;
}

bool sumInHalf(const View& out, const View& input) {
    if (out.dtype() != diopi_dtype_float16 || input.dtype() != diopi_dtype_float16 || out.count() != 1) return false;
    double sum = 0;
    for (int64_t index = 0; index < input.count(); ++index) sum = throughFloat16(sum + input.real(index));
    out.setReal(0, sum);
    return input.count() > 2;
}

double towardsZero(double value) {
    const double nearest = throughFloat16(value);
    if (std::fabs(nearest) <= std::fabs(value) || !std::isfinite(value)) return nearest;
    int exponent = 0;
    std::frexp(value, &exponent);
    const double stride = std::ldexp(1.0, std::max(exponent - 11, -24));
    return std::isinf(nearest) ? std::copysign(65504, value) : nearest - std::copysign(stride, value);
}

const Selector products = named("Mm Bmm Matmul Addmm Baddbmm Linear Convolution2d Convolution3d ConvTranspose*d");

const Registration registration(
    "precision",
    {
        {"half-3-per-cent", "float16 results are off by 3 per cent", determined(),
         rounded(diopi_dtype_float16, [](double number) { return number * 1.03; })},
        {"bfloat16-3-per-cent", "bfloat16 results are off by 3 per cent", determined(),
         rounded(diopi_dtype_bfloat16, [](double number) { return number * 1.03; })},
        {"single-1e-4", "float32 results are off by a ten-thousandth", determined(),
         rounded(diopi_dtype_float32, [](double number) { return number * 1.0001; })},
        {"single-through-half", "float32 results are rounded to float16", determined(),
         rounded(diopi_dtype_float32, throughFloat16)},
        {"single-through-bfloat16", "float32 results are rounded to bfloat16", determined(),
         rounded(diopi_dtype_float32, throughBfloat16)},
        {"double-through-single", "float64 results are rounded to float32", determined(),
         rounded(diopi_dtype_float64, [](double number) { return static_cast<double>(static_cast<float>(number)); })},
        {"products-in-tfloat32", "float32 operands of products and convolutions keep ten bits", products,
         readThrough([](const View& view) { return view.dtype() == diopi_dtype_float32; },
                     [](double number) { return withMantissa(number, 10); })},
        {"product-added-up-in-half", "a matrix product of float16 adds its terms up in float16", named("Mm"),
         afterCall([](Call& call) {
             return productInHalf(call.tensor("out"), call.tensor("input"), call.tensor("mat2"));
         })},
        {"sum-added-up-in-half", "a sum over everything in float16 is added up in float16", named("Sum"),
         afterCall([](Call& call) { return sumInHalf(call.tensor("out"), call.tensor("input")); })},
        {"running-sum-in-half", "a running sum of float16 is kept in float16", named("Cumsum"),
         afterCall([](Call& call) {
             return runningSumInHalf(call.tensor("out"), call.tensor("input"),
                                     static_cast<int64_t>(call.number("dim").value_or(0)));
         })},
        {"cast-towards-zero", "a cast from float32 to float16 cuts bits off", named("CastDtype CopyInp"),
         afterCall([](Call& call) {
             const View from = call.tensor(call.hasPrefix("Copy") ? "src" : "input");
             const View to = call.tensor(call.hasPrefix("Copy") ? "dest" : "out");
             if (from.dtype() != diopi_dtype_float32 || to.dtype() != diopi_dtype_float16 ||
                 from.shape() != to.shape()) {
                 return false;
             }
             bool changed = false;
             for (int64_t index = 0; index < to.count(); ++index) {
                 const double before = to.real(index);
                 to.setReal(index, towardsZero(from.real(index)));
                 changed = changed || (before == before && to.real(index) != before);
             }
             return changed;
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
