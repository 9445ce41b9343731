#include "multiply_halves.h"

#include <algorithm>

#include "diopi_core/clones.h"
#include "diopi_core/gemm.h"
#include "diopi_core/strided.h"
#include "diopi_cpu/half_convert.h"
#include "diopi_cpu/rows.h"
#include "onednn.h"

namespace diopigen::cpu {

namespace {

constexpr int64_t kFewRows = 4;
constexpr int64_t kPart = 4096;  // elements of a column that are added up in float
constexpr int64_t kLeastColumns = 16;

// The sum of products of a part. Products of halves are exact in float, and a lane adds up few of them.
template <typename T>
DIOPI_CPU_CLONES double dot(const float* a, const T* b, int64_t count) {
    constexpr int64_t kLanes = 64;
    constexpr int64_t kVector = 16;  // halves in one of AVX2
    float lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        DIOPI_CPU_UNROLLED
        for (int64_t part = 0; part < kLanes; part += kVector) {
            DIOPI_CPU_ROLLED
            for (int64_t lane = part; lane < part + kVector; ++lane) {
                lanes[lane] += a[i + lane] * static_cast<float>(b[i + lane]);
            }
        }
    }
    double sum = row_sum(kLanes, [&](int64_t lane) { return lanes[lane]; });
    for (; i < count; ++i) {
        sum += a[i] * static_cast<float>(b[i]);
    }
    return sum;
}

// A product by columns of `b`. Results are floats.
struct ByColumns {
    const Tensor& b;  // [batch, inner, columns]
    int64_t rows;
    const float* left;  // [batch, rows, inner]
    float* results;     // [batch, rows, columns], which hold what is added
    float alpha;
    float beta;

    int64_t inner() const { return b.shape[1]; }
    int64_t columns() const { return b.shape[2]; }
    const char* column(int64_t batch, int64_t at) const {
        return static_cast<const char*>(b.data) + (batch * b.strides[0] + at * b.strides[2]) * size_of(b.dtype);
    }
    const float* left_of(int64_t batch) const { return left + batch * rows * inner(); }
    float* results_of(int64_t batch) const { return results + batch * rows * columns(); }

    // Reads each column once, for all rows.
    void add_up(int64_t batch, int64_t at) const {
        float floats[kPart];
        double sums[kFewRows] = {};
        for (int64_t first = 0; first < inner(); first += kPart) {
            const int64_t count = std::min(kPart, inner() - first);
            const char* const part = column(batch, at) + first * size_of(b.dtype);
            // Loops read bfloat16 as fast as floats.
            const bool is_direct = b.dtype == Dtype::kBfloat16 || (rows == 1 && has_half_instructions());
            if (!is_direct) {
                convert(b.dtype, part, Dtype::kFloat32, floats, count);
            }
            for (int64_t row = 0; row < rows; ++row) {
                const float* const factors = left_of(batch) + row * inner() + first;
                sums[row] += !is_direct ? dot(factors, floats, count)
                             : b.dtype == Dtype::kBfloat16
                                 ? dot(factors, reinterpret_cast<const Bfloat16*>(part), count)
                                 : dot_halves(factors, reinterpret_cast<const Half*>(part), count);
            }
        }
        for (int64_t row = 0; row < rows; ++row) {
            float& result = results_of(batch)[row * columns() + at];
            const double product = alpha * sums[row];
            result = static_cast<float>(beta == 0 ? product : product + static_cast<double>(beta) * result);
        }
    }

    // Makes floats of a few columns, which stay in a cache.
    void multiply(int64_t batch, int64_t at, int64_t count) const {
        const int64_t stride = onednn::spread_stride(inner());
        Buffer panel;
        panel.allocate(count * stride * static_cast<int64_t>(sizeof(float)));
        auto* const floats = static_cast<float*>(panel.data());
        for (int64_t i = 0; i < count; ++i) {
            convert(b.dtype, column(batch, at + i), Dtype::kFloat32, floats + i * stride, inner());
        }
        gemm_block<float>({rows, inner(), count}, alpha, {left_of(batch), inner()}, {floats, stride, true}, beta,
                          results_of(batch) + at, columns());
    }
};

// With more rows a panel is larger: each is multiplied by all of `a`, which is brought into its order again.
int64_t panel_columns(int64_t rows, int64_t inner, int64_t columns) {
    const int64_t elements = rows <= 64 ? 1 << 18 : 1 << 20;
    return std::min(columns, std::max(kLeastColumns, elements / inner / kLeastColumns * kLeastColumns));
}

}  // namespace

bool multiply_halves(const Tensor& out, const Tensor& a, const Tensor& b, Number alpha, Number beta,
                     const Tensor& added) {
    const auto alignment = static_cast<uintptr_t>(size_of(b.dtype));
    const bool lies_as_rows = b.strides[1] == 1 && reinterpret_cast<uintptr_t>(b.data) % alignment == 0;
    if (!is_half(out.dtype) || b.dtype != out.dtype || !lies_as_rows || b.shape[1] == 0) {
        return false;
    }
    const bool adds = beta.value() != 0;
    const Input<float> left(a);
    const Input<float> summands(adds ? added : Tensor());
    const Output<float> results(out);
    if (adds) {
        std::copy_n(summands.data(), out.numel, results.data());
    }
    const ByColumns product{b, a.shape[1], left.data(), results.data(), alpha.as<float>(), beta.as<float>()};
    const bool has_few_rows = product.rows <= kFewRows;
    const int64_t width = has_few_rows ? 1 : panel_columns(product.rows, product.inner(), product.columns());
    const int64_t panels = (product.columns() + width - 1) / width;
    const int64_t work = product.rows * product.inner() * width;
    parallel_for(out.shape[0] * panels, 1 + 65536 / (work + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t at = i % panels * width;
            if (has_few_rows) {
                product.add_up(i / panels, at);
            } else {
                product.multiply(i / panels, at, std::min(width, product.columns() - at));
            }
        }
    });
    results.store();
    return true;
}

}  // namespace diopigen::cpu
