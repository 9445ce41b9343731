// A vendor of the few operators that composites build on, slow and exact: computed in long double, rounded at the end.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "values.h"

namespace impl {
namespace mini {

using ::mock::at;
using ::mock::count;
using ::mock::describe;
using ::mock::Layout;
using ::mock::load;
using ::mock::Number;
using ::mock::store;

namespace {

using Real = long double;
using Complex = std::complex<Real>;

Complex complexOf(const Number& number) { return Complex(number.real, number.imaginary); }
Number numberOf(const Complex& value) { return Number{value.real(), value.imag()}; }

std::vector<std::int64_t> coordinates(const Layout& layout, std::int64_t position) {
    std::vector<std::int64_t> found(static_cast<std::size_t>(layout.size.len));
    for (std::int64_t i = layout.size.len; i-- > 0;) {
        found[static_cast<std::size_t>(i)] = position % layout.size.data[i];
        position /= layout.size.data[i];
    }
    return found;
}

// The element of a tensor that broadcasting brings to these coordinates.
char* seen(const Layout& layout, const std::vector<std::int64_t>& place) {
    std::int64_t offset = 0;
    const std::int64_t extra = static_cast<std::int64_t>(place.size()) - layout.size.len;
    for (std::int64_t i = 0; i < layout.size.len; ++i) {
        offset += layout.size.data[i] == 1 ? 0 : place[static_cast<std::size_t>(i + extra)] * layout.stride.data[i];
    }
    return layout.data + offset * layout.itemsize;
}

diopiError_t eachComplex(diopiTensorHandle_t out, std::vector<diopiConstTensorHandle_t> inputs,
                         const std::function<Complex(const std::vector<Complex>&)>& formula) {
    const Layout result = describe(out);
    std::vector<Layout> layouts;
    for (const diopiConstTensorHandle_t input : inputs) {
        layouts.push_back(describe(input));
    }
    for (std::int64_t i = 0; i < count(result); ++i) {
        const std::vector<std::int64_t> place = coordinates(result, i);
        std::vector<Complex> values;
        for (const Layout& layout : layouts) {
            values.push_back(complexOf(load(seen(layout, place), layout.dtype)));
        }
        store(at(result, i), result.dtype, numberOf(formula(values)));
    }
    return diopiSuccess;
}

diopiError_t each(diopiTensorHandle_t out, std::vector<diopiConstTensorHandle_t> inputs,
                  const std::function<Real(const std::vector<Real>&)>& formula) {
    return eachComplex(out, inputs, [&](const std::vector<Complex>& values) {
        std::vector<Real> reals;
        for (const Complex& value : values) {
            reals.push_back(value.real());
        }
        return Complex(formula(reals), 0);
    });
}

Real number(const diopiScalar_t* scalar) {
    return scalar->stype == diopi_dtype_float64 ? static_cast<Real>(scalar->fval) : static_cast<Real>(scalar->ival);
}

// Reduces with `join`; dimensions that stay with one element or not at all are the same to it.
diopiError_t reduce(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dims, Real start,
                    const std::function<Complex(Complex, Complex)>& join) {
    const Layout result = describe(out);
    const Layout source = describe(input);
    std::vector<Complex> totals(static_cast<std::size_t>(count(result)), start);
    for (std::int64_t i = 0; i < count(source); ++i) {
        const std::vector<std::int64_t> place = coordinates(source, i);
        std::int64_t position = 0;
        for (std::int64_t k = 0; k < source.size.len; ++k) {
            const bool reduced = std::find(dims.data, dims.data + dims.len, k) != dims.data + dims.len;
            position = reduced ? position : position * source.size.data[k] + place[static_cast<std::size_t>(k)];
        }
        Complex& total = totals[static_cast<std::size_t>(position)];
        total = join(total, complexOf(load(at(source, i), source.dtype)));
    }
    for (std::int64_t i = 0; i < count(result); ++i) {
        store(at(result, i), result.dtype, numberOf(totals[static_cast<std::size_t>(i)]));
    }
    return diopiSuccess;
}

}  // namespace

#define CTX diopiContextHandle_t
#define OUT diopiTensorHandle_t out
#define IN diopiConstTensorHandle_t

diopiError_t diopiMul(CTX, OUT, IN a, IN b) {
    return each(out, {a, b}, [](auto& v) { return v[0] * v[1]; });
}
diopiError_t diopiMulScalar(CTX, OUT, IN a, const diopiScalar_t* s) {
    return each(out, {a}, [s](auto& v) { return v[0] * number(s); });
}
diopiError_t diopiAdd(CTX, OUT, IN a, IN b, const diopiScalar_t* alpha) {
    return each(out, {a, b}, [alpha](auto& v) { return v[0] + number(alpha) * v[1]; });
}
diopiError_t diopiAddScalar(CTX, OUT, IN a, const diopiScalar_t* s, const diopiScalar_t* alpha) {
    return each(out, {a}, [=](auto& v) { return v[0] + number(alpha) * number(s); });
}
diopiError_t diopiSub(CTX, OUT, IN a, IN b, const diopiScalar_t* alpha) {
    return eachComplex(out, {a, b}, [alpha](auto& v) { return v[0] - number(alpha) * v[1]; });
}
diopiError_t diopiDiv(CTX, OUT, IN a, IN b, diopiRoundMode_t) {
    return each(out, {a, b}, [](auto& v) { return v[0] / v[1]; });
}
diopiError_t diopiDivScalar(CTX, OUT, IN a, const diopiScalar_t* s, diopiRoundMode_t mode) {
    if (mode == RoundModeFloor) {
        return each(out, {a}, [s](auto& v) { return std::floor(v[0] / number(s)); });
    }
    return eachComplex(out, {a}, [s](auto& v) { return v[0] / number(s); });
}
diopiError_t diopiAbs(CTX, OUT, IN a) {
    return eachComplex(out, {a}, [](auto& v) { return Complex(std::abs(v[0]), 0); });
}
diopiError_t diopiSqrt(CTX, OUT, IN a) {
    return each(out, {a}, [](auto& v) { return std::sqrt(v[0]); });
}
diopiError_t diopiExp(CTX, OUT, IN a) {
    return each(out, {a}, [](auto& v) { return std::exp(v[0]); });
}
diopiError_t diopiLog(CTX, OUT, IN a) {
    return each(out, {a}, [](auto& v) { return std::log(v[0]); });
}
diopiError_t diopiErf(CTX, OUT, IN a) {
    return each(out, {a}, [](auto& v) { return std::erf(v[0]); });
}
diopiError_t diopiSigmoid(CTX, OUT, IN a) {
    return each(out, {a}, [](auto& v) { return 1 / (1 + std::exp(-v[0])); });
}
diopiError_t diopiMinimum(CTX, OUT, IN a, IN b) {
    return each(out, {a, b}, [](auto& v) { return std::min(v[0], v[1]); });
}
diopiError_t diopiMaximum(CTX, OUT, IN a, IN b) {
    return each(out, {a, b}, [](auto& v) { return std::max(v[0], v[1]); });
}
diopiError_t diopiLt(CTX, OUT, IN a, IN b) {
    return each(out, {a, b}, [](auto& v) { return v[0] < v[1] ? 1.0L : 0.0L; });
}
diopiError_t diopiNeScalar(CTX, OUT, IN a, const diopiScalar_t* s) {
    return each(out, {a}, [s](auto& v) { return v[0] != number(s) ? 1.0L : 0.0L; });
}
diopiError_t diopiWhere(CTX, OUT, IN condition, IN a, IN b) {
    return each(out, {condition, a, b}, [](auto& v) { return v[0] != 0 ? v[1] : v[2]; });
}
diopiError_t diopiFill(CTX, OUT, const diopiScalar_t* s) {
    return each(out, {}, [s](auto&) { return number(s); });
}
diopiError_t diopiCastDtype(CTX, OUT, IN a) {
    return eachComplex(out, {a}, [](auto& v) { return v[0]; });
}
diopiError_t diopiCopyInp(CTX, IN a, OUT) {
    return each(out, {a}, [](auto& v) { return v[0]; });
}
diopiError_t diopiSum(CTX, OUT, IN a, diopiSize_t dims) {
    return reduce(out, a, dims, 0, [](Complex l, Complex r) { return l + r; });
}
diopiError_t diopiAmax(CTX, OUT, IN a, diopiSize_t dims, bool) {
    return reduce(out, a, dims, -HUGE_VALL, [](Complex l, Complex r) { return l.real() < r.real() ? r : l; });
}
diopiError_t diopiPermute(CTX, OUT, IN a, diopiSize_t dims) {
    const Layout result = describe(out);
    const Layout source = describe(a);
    for (std::int64_t i = 0; i < count(result); ++i) {
        const std::vector<std::int64_t> place = coordinates(result, i);
        std::int64_t offset = 0;
        for (std::int64_t k = 0; k < dims.len; ++k) {
            offset += place[static_cast<std::size_t>(k)] * source.stride.data[dims.data[k]];
        }
        store(at(result, i), result.dtype, load(source.data + offset * source.itemsize, source.dtype));
    }
    return diopiSuccess;
}
diopiError_t diopiTranspose(CTX ctx, OUT, IN a, std::int64_t first, std::int64_t second) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(describe(a).size.len));
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<std::int64_t>(i);
    }
    std::swap(order[static_cast<std::size_t>(first)], order[static_cast<std::size_t>(second)]);
    return mini::diopiPermute(ctx, out, a, diopiSize_t{order.data(), static_cast<std::int64_t>(order.size())});
}
diopiError_t diopiMatmul(CTX, OUT, IN a, IN b) {
    const Layout result = describe(out);
    const Layout left = describe(a);
    const Layout right = describe(b);
    const std::int64_t inner = left.size.data[left.size.len - 1];
    for (std::int64_t i = 0; i < count(result); ++i) {
        std::vector<std::int64_t> row = coordinates(result, i);
        std::vector<std::int64_t> column = row;
        Real total = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
            row[row.size() - 1] = k;
            column[column.size() - 2] = k;
            total += load(seen(left, row), left.dtype).real * load(seen(right, column), right.dtype).real;
        }
        store(at(result, i), result.dtype, Number{total, 0});
    }
    return diopiSuccess;
}
diopiError_t diopiArange(CTX, OUT, const diopiScalar_t* start, const diopiScalar_t* end, const diopiScalar_t* step) {
    const Layout result = describe(out);
    if (count(result) != static_cast<std::int64_t>(std::ceil((number(end) - number(start)) / number(step)))) {
        return diopiErrorOccurred;
    }
    for (std::int64_t i = 0; i < count(result); ++i) {
        store(at(result, i), result.dtype, Number{number(start) + static_cast<Real>(i) * number(step), 0});
    }
    return diopiSuccess;
}
diopiError_t diopiExpand(CTX, OUT, IN a) {
    return each(out, {a}, [](auto& v) { return v[0]; });
}
diopiError_t diopiIndexSelect(CTX, OUT, IN a, std::int64_t dim, IN index) {
    const Layout result = describe(out);
    const Layout source = describe(a);
    const Layout chosen = describe(index);
    for (std::int64_t i = 0; i < count(result); ++i) {
        std::vector<std::int64_t> place = coordinates(result, i);
        std::int64_t& position = place[static_cast<std::size_t>(dim)];
        position = static_cast<std::int64_t>(load(at(chosen, position), chosen.dtype).real);
        if (position < 0 || position >= source.size.data[dim]) {
            return diopiErrorOccurred;
        }
        store(at(result, i), result.dtype, load(seen(source, place), source.dtype));
    }
    return diopiSuccess;
}
// Not random: the same elements at every call. It wants a generator all the same.
diopiError_t diopiDropout(CTX, OUT, diopiTensorHandle_t mask, IN a, double p, bool train,
                          diopiGeneratorHandle_t generator) {
    if (generator == nullptr || !train) {
        return diopiErrorOccurred;
    }
    const Layout result = describe(out);
    const Layout kept = describe(mask);
    const Layout source = describe(a);
    for (std::int64_t i = 0; i < count(result); ++i) {
        const bool keeps = static_cast<double>(i * 37 % 101) >= p * 101;
        store(at(kept, i), kept.dtype, Number{keeps ? 1.0L : 0.0L, 0});
        const Real value = load(at(source, i), source.dtype).real;
        store(at(result, i), result.dtype, Number{keeps ? value / (1 - static_cast<Real>(p)) : 0, 0});
    }
    return diopiSuccess;
}
diopiError_t diopiNLLLoss(CTX, OUT, IN input, IN target, IN weight, diopiReduction_t reduction, std::int64_t ignore) {
    const Layout result = describe(out);
    const Layout logs = describe(input);
    const Layout classes = describe(target);
    Real total = 0;
    Real weights = 0;
    for (std::int64_t i = 0; i < count(classes); ++i) {
        std::vector<std::int64_t> place = coordinates(classes, i);
        const std::int64_t chosen = static_cast<std::int64_t>(load(at(classes, i), classes.dtype).real);
        Real loss = 0;
        if (chosen != ignore) {
            place.insert(place.begin() + (logs.size.len > 1 ? 1 : 0), chosen);
            Real share = 1;
            if (weight != nullptr) {
                const Layout factors = describe(weight);
                share = load(at(factors, chosen), factors.dtype).real;
            }
            loss = -share * load(seen(logs, place), logs.dtype).real;
            weights += share;
        }
        total += loss;
        if (reduction == ReductionNone) {
            store(at(result, i), result.dtype, Number{loss, 0});
        }
    }
    if (reduction != ReductionNone) {
        store(result.data, result.dtype, Number{reduction == ReductionMean ? total / weights : total, 0});
    }
    return diopiSuccess;
}

// A kernel that takes float32 and nothing else, in dense tensors of one order.
diopiError_t diopiAdam(CTX, diopiTensorHandle_t param, IN grad, diopiTensorHandle_t exp_avg,
                       diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq, float lr, float beta1,
                       float beta2, float eps, float weight_decay, std::int64_t step, bool amsgrad) {
    float* data[5] = {};
    const diopiConstTensorHandle_t tensors[] = {param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq};
    for (int i = 0; i < (amsgrad ? 5 : 4); ++i) {
        const Layout layout = describe(tensors[i]);
        std::int64_t expected = 1;
        for (std::int64_t k = layout.size.len; k-- > 0;) {
            if (layout.dtype != diopi_dtype_float32 || layout.stride.data[k] != expected) {
                return diopiDtypeNotSupported;
            }
            expected *= layout.size.data[k];
        }
        data[i] = reinterpret_cast<float*>(layout.data);
    }
    const float first = 1 - static_cast<float>(std::pow(static_cast<double>(beta1), static_cast<double>(step)));
    const float second = 1 - static_cast<float>(std::pow(static_cast<double>(beta2), static_cast<double>(step)));
    for (std::int64_t i = 0; i < count(describe(param)); ++i) {
        const float gradient = data[1][i] + weight_decay * data[0][i];
        data[2][i] = beta1 * data[2][i] + (1 - beta1) * gradient;
        data[3][i] = beta2 * data[3][i] + (1 - beta2) * gradient * gradient;
        float variance = data[3][i];
        if (amsgrad) {
            data[4][i] = std::max(data[4][i], variance);
            variance = data[4][i];
        }
        data[0][i] -= lr / first * data[2][i] / (std::sqrt(variance / second) + eps);
    }
    return diopiSuccess;
}

}  // namespace mini
}  // namespace impl
