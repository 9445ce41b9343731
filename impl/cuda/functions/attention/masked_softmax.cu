// ScaledMaskedSoftmax: rows that fit in registers are read once; longer ones three times, by a group each.
#include "attention/attention_kernels.h"
#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/operand.h"
#include "diopi_cuda/rows.h"

namespace diopigen::cuda {

namespace {

constexpr float kHiddenScore = -10000;

// Which scores of [batch, heads, queries, keys] are hidden.
struct Hidden {
    const uint8_t* bytes;
    int64_t strides[4];
    uint32_t heads;
    uint32_t queries;
    bool is_triangle;

    Hidden(const Tensor& mask, const Tensor& scores, bool triangle)
        : bytes(static_cast<const uint8_t*>(mask.data)),
          heads(static_cast<uint32_t>(scores.shape[1])),
          queries(static_cast<uint32_t>(scores.shape[2])),
          is_triangle(triangle) {
        require_on_device(mask);
        const View view = expanded(mask, shape_of(scores));
        for (int d = 0; d < 4; ++d) {
            strides[d] = view.tensor().strides[d];
        }
    }
};

// The same of one row.
struct HiddenOfRow {
    const uint8_t* bytes;
    int64_t stride;
    int shown;  // keys, where the triangle hides the others; else -1

    DIOPI_DEVICE HiddenOfRow(const Hidden& hidden, int64_t row) {
        const auto number = static_cast<uint32_t>(row);
        const uint32_t query = number % hidden.queries;
        const uint32_t head = number / hidden.queries % hidden.heads;
        const uint32_t batch = number / hidden.queries / hidden.heads;
        bytes = hidden.bytes + batch * hidden.strides[0] + head * hidden.strides[1] + query * hidden.strides[2];
        stride = hidden.strides[3];
        shown = hidden.is_triangle ? static_cast<int>(query) + 1 : -1;
    }
    DIOPI_DEVICE bool at(int key) const { return shown >= 0 ? key >= shown : bytes[key * stride] != 0; }
    DIOPI_DEVICE float score(int key, float value, float scale) const { return at(key) ? kHiddenScore : scale * value; }
    DIOPI_DEVICE float gradient(int key, float value) const { return at(key) ? 0.0f : value; }
};

template <typename S, int n>
struct Held {
    static constexpr int kHeld = n == 1 ? 16 : 32 / n;

    RowTiles rows;
    S* to;
    const S* from;
    Hidden hidden;
    float scale;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, rows.tile);
        const int64_t row = rows.row(group, k);
        const int length = rows.length_of(row);
        const HiddenOfRow own(hidden, row < rows.rows ? row : 0);
        float x[kHeld * n];
        load_row<S, n, kHeld>(x, from + row * rows.length, length, tile, 0.0f);
        float top = -std::numeric_limits<float>::infinity();
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            const int at = (v * tile.size() + tile.thread()) * n;
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                float& value = x[v * n + i];
                value = at < length ? own.score(at + i, value, scale) : -std::numeric_limits<float>::infinity();
                top = larger(top, value);  // a NaN may be lost; the sum has it
            }
        }
        top = tile.reduce(top, [](float a, float b) { return larger(a, b); });
        DIOPI_UNROLL
        for (int i = 0; i < kHeld * n; ++i) {
            x[i] = exp(x[i] - top);
        }
        const float inverse_sum = 1.0f / static_cast<float>(tile.sum(sum_of<n, kHeld>(x)));
        DIOPI_UNROLL
        for (int i = 0; i < kHeld * n; ++i) {
            x[i] = x[i] * inverse_sum;
        }
        store_row<S, n, kHeld>(to + row * rows.length, x, length, tile);
    }
};

template <typename S, int n>
struct HeldGradient {
    static constexpr int kHeld = n == 1 ? 16 : 4;

    RowTiles rows;
    S* to;
    const S* grad_out;
    const S* output;
    Hidden hidden;
    float scale;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, rows.tile);
        const int64_t row = rows.row(group, k);
        const int length = rows.length_of(row);
        const HiddenOfRow own(hidden, row < rows.rows ? row : 0);
        float g[kHeld * n];
        float y[kHeld * n];
        load_row<S, n, kHeld>(g, grad_out + row * rows.length, length, tile, 0.0f);
        load_row<S, n, kHeld>(y, output + row * rows.length, length, tile, 0.0f);
        float products[kHeld * n];
        DIOPI_UNROLL
        for (int i = 0; i < kHeld * n; ++i) {
            products[i] = g[i] * y[i];
        }
        const auto total = static_cast<float>(tile.sum(sum_of<n, kHeld>(products)));
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            const int at = (v * tile.size() + tile.thread()) * n;
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                const float slope = scale * y[v * n + i] * (g[v * n + i] - total);
                g[v * n + i] = at < length ? own.gradient(at + i, slope) : 0.0f;
            }
        }
        store_row<S, n, kHeld>(to + row * rows.length, g, length, tile);
    }
};

// Rows too long for registers.
template <typename S>
void softmax_of_long(S* to, const S* from, const Hidden& hidden, int64_t rows, int64_t keys, float scale) {
    for_groups(rows, kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const HiddenOfRow own(hidden, row);
        const S* const scores = from + row * keys;
        float top = -std::numeric_limits<float>::infinity();
        for (int64_t j = group.thread(); j < keys; j += group.size()) {
            top = larger(top, own.score(static_cast<int>(j), static_cast<float>(scores[j]), scale));
        }
        top = group.reduce(top, [](float a, float b) { return larger(a, b); });
        double sum = 0;
        for (int64_t j = group.thread(); j < keys; j += group.size()) {
            sum += static_cast<double>(exp(own.score(static_cast<int>(j), static_cast<float>(scores[j]), scale) - top));
        }
        const float inverse_sum = 1.0f / static_cast<float>(group.sum(sum));
        for (int64_t j = group.thread(); j < keys; j += group.size()) {
            const float score = own.score(static_cast<int>(j), static_cast<float>(scores[j]), scale);
            to[row * keys + j] = static_cast<S>(exp(score - top) * inverse_sum);
        }
    });
}

template <typename S>
void gradient_of_long(S* to, const S* grad_out, const S* output, const Hidden& hidden, int64_t rows, int64_t keys,
                      float scale) {
    for_groups(rows, kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const HiddenOfRow own(hidden, row);
        const S* const g = grad_out + row * keys;
        const S* const y = output + row * keys;
        double sum = 0;
        for (int64_t j = group.thread(); j < keys; j += group.size()) {
            sum += static_cast<double>(static_cast<float>(g[j]) * static_cast<float>(y[j]));
        }
        const auto total = static_cast<float>(group.sum(sum));
        for (int64_t j = group.thread(); j < keys; j += group.size()) {
            const float slope = scale * static_cast<float>(y[j]) * (static_cast<float>(g[j]) - total);
            to[row * keys + j] = static_cast<S>(own.gradient(static_cast<int>(j), slope));
        }
    });
}

int64_t row_count(const Tensor& scores) {
    const int64_t rows = scores.numel == 0 ? 0 : scores.numel / scores.shape[3];
    require(rows <= kMaxGroups && scores.shape[3] <= kMaxGroups, "more rows or keys than a launch can have");
    return rows;
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core::attention {

void masked_softmax(const Tensor& out, const Tensor& in, const Tensor& mask, double scale, bool is_triangle) {
    const cuda::Hidden hidden(mask, in, is_triangle);
    const int64_t rows = cuda::row_count(in);
    const int64_t keys = in.shape[3];
    const auto factor = static_cast<float>(scale);
    dispatch<kFloat16 | kBfloat16 | kFloat32>(in.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> scores(in);
        const Output<S> probabilities(out);
        cuda::dispatch_vectors<S>(cuda::can_vectorize<S>(keys, {scores.data(), probabilities.data()}), [&](auto width) {
            using Kernel = cuda::Held<S, decltype(width)::value>;
            const cuda::RowTiles tiles(rows, keys, decltype(width)::value, Kernel::kHeld);
            if (tiles.fits) {
                cuda::for_groups(tiles.groups(), tiles.threads, 0,
                                 Kernel{tiles, probabilities.data(), scores.data(), hidden, factor});
            } else {
                cuda::softmax_of_long<S>(probabilities.data(), scores.data(), hidden, rows, keys, factor);
            }
        });
        probabilities.store();
    });
}

void masked_softmax_gradient(const Tensor& grad_in, const Tensor& grad_out, const Tensor& out, const Tensor& mask,
                             double scale, bool is_triangle) {
    const cuda::Hidden hidden(mask, out, is_triangle);
    const int64_t rows = cuda::row_count(out);
    const int64_t keys = out.shape[3];
    const auto factor = static_cast<float>(scale);
    dispatch<kFloat16 | kBfloat16 | kFloat32>(out.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> g(grad_out);
        const Input<S> y(out);
        const Output<S> result(grad_in);
        cuda::dispatch_vectors<S>(cuda::can_vectorize<S>(keys, {g.data(), y.data(), result.data()}), [&](auto width) {
            using Kernel = cuda::HeldGradient<S, decltype(width)::value>;
            const cuda::RowTiles tiles(rows, keys, decltype(width)::value, Kernel::kHeld);
            if (tiles.fits) {
                cuda::for_groups(tiles.groups(), tiles.threads, 0,
                                 Kernel{tiles, result.data(), g.data(), y.data(), hidden, factor});
            } else {
                cuda::gradient_of_long<S>(result.data(), g.data(), y.data(), hidden, rows, keys, factor);
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core::attention
