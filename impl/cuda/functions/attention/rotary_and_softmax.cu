// RotaryEmbedding and ScaledMaskedSoftmax.
#include "attention/kernels.h"
#include "diopi_cpu/math.h"
#include "diopi_cpu/words.h"
#include "diopi_cuda/operand.h"

namespace diopi::cuda {

namespace {

struct Turned {
    int64_t positions;
    int64_t heads;
    int64_t half;
    bool turns_back;
    bool is_interleaved;
};

template <typename T>
void rotate_pairs(T* to, const T* from, const T* cosines, const T* sines, int64_t rows, const Turned& how) {
    for_each(rows * how.half, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t row = at / how.half;
        const int64_t i = at % how.half;
        const int64_t angle = row / how.heads % how.positions * how.half + i;
        const int64_t first = row * 2 * how.half + (how.is_interleaved ? 2 * i : i);
        const int64_t second = how.is_interleaved ? first + 1 : first + how.half;
        const T cosine = cosines[angle];
        const T sine = how.turns_back ? -sines[angle] : sines[angle];
        const T a = from[first];
        const T b = from[second];
        to[first] = a * cosine - b * sine;
        to[second] = a * sine + b * cosine;
    });
}

// Pairs of elements i and i + size / 2 of heads, of which a token has `width` elements.
template <typename T>
void rotate_halves(T* heads, const T* cosines, const T* sines, int64_t tokens, int64_t width, int64_t size) {
    const int64_t half = size / 2;
    for_each(tokens * (width / 2), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t i = at % half;
        const int64_t angle = at / (width / 2) * size + i;
        T* head = heads + at / half * size;
        const T a = head[i];
        const T b = head[i + half];
        head[i] = a * cosines[angle] - b * sines[angle];
        head[i + half] = b * cosines[angle + half] + a * sines[angle + half];
    });
}

// Which scores of [batch, heads, queries, keys] are hidden.
struct Hidden {
    Dims dims;
    Operand mask;
    bool is_triangle;
    int64_t queries;
    int64_t keys;

    Hidden(const Tensor& mask_tensor, const Tensor& scores, bool triangle)
        : is_triangle(triangle), queries(scores.shape[2]), keys(scores.shape[3]) {
        require_on_device(mask_tensor);
        const Tensor* tensors[] = {&mask_tensor};
        dims = walk(scores, tensors, &mask, 1);
    }
    DIOPI_DEVICE bool at(int64_t row, int64_t key) const {
        return is_triangle ? key > row % queries
                           : *reinterpret_cast<const uint8_t*>(mask.at(dims, row * keys + key)) != 0;
    }
};

void softmax(float* to, const float* from, const Hidden& hidden, int64_t rows, double scale) {
    for_groups(rows, threads_for(hidden.keys), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        constexpr double kHidden = -10000;
        const float* scores = from + row * hidden.keys;
        double maximum = -static_cast<double>(INFINITY);
        for (int64_t j = group.thread(); j < hidden.keys; j += group.size()) {
            const double score = hidden.at(row, j) ? kHidden : scale * static_cast<double>(scores[j]);
            maximum = score > maximum ? score : maximum;
        }
        maximum = group.reduce(maximum, [](double a, double b) { return b > a ? b : a; });
        double sum = 0;
        for (int64_t j = group.thread(); j < hidden.keys; j += group.size()) {
            const double score = hidden.at(row, j) ? kHidden : scale * static_cast<double>(scores[j]);
            sum += numeric::exp(score - maximum);
        }
        sum = group.sum(sum);
        for (int64_t j = group.thread(); j < hidden.keys; j += group.size()) {
            const double score = hidden.at(row, j) ? kHidden : scale * static_cast<double>(scores[j]);
            to[row * hidden.keys + j] = static_cast<float>(numeric::exp(score - maximum) / sum);
        }
    });
}

void softmax_gradient(float* to, const float* gradients, const float* probabilities, const Hidden& hidden, int64_t rows,
                      double scale) {
    for_groups(rows, threads_for(hidden.keys), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const float* g = gradients + row * hidden.keys;
        const float* p = probabilities + row * hidden.keys;
        double sum = 0;
        for (int64_t j = group.thread(); j < hidden.keys; j += group.size()) {
            sum += static_cast<double>(g[j]) * static_cast<double>(p[j]);
        }
        sum = group.sum(sum);
        for (int64_t j = group.thread(); j < hidden.keys; j += group.size()) {
            const double gradient = scale * static_cast<double>(p[j]) * (static_cast<double>(g[j]) - sum);
            to[row * hidden.keys + j] = hidden.at(row, j) ? 0.0f : static_cast<float>(gradient);
        }
    });
}

int64_t row_count(const Tensor& scores) { return scores.numel == 0 ? 0 : scores.numel / scores.shape[3]; }

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu::attention {

void rotate_pairs(const Tensor& out, const Tensor& x, const Tensor& cos, const Tensor& sin, bool conj,
                  bool interleaved) {
    const int64_t size = x.shape[x.rank - 1];
    const cuda::Turned how{x.shape[x.rank - 3], x.shape[x.rank - 2], size / 2, conj, interleaved};
    dispatch_compute<kFloating>(x.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> from(x);
        const Input<T> cosines(cos);
        const Input<T> sines(sin);
        const Output<T> to(out);
        cuda::rotate_pairs<T>(to.data(), from.data(), cosines.data(), sines.data(), size == 0 ? 0 : x.numel / size,
                              how);
        to.store();
    });
}

void rotate_halves(const Tensor& heads_tensor, const Tensor& cos, const Tensor& sin, int64_t size) {
    const int64_t tokens = heads_tensor.shape[0];
    dispatch_compute<kFloating>(heads_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> cosines(cos);
        const Input<T> sines(sin);
        const Changed heads(heads_tensor, dtype_of<T>);
        cuda::rotate_halves<T>(heads.as<T>(), cosines.data(), sines.data(), tokens,
                               tokens == 0 ? 0 : heads_tensor.numel / tokens, size);
        heads.store();
    });
}

void masked_softmax(const Tensor& out, const Tensor& in, const Tensor& mask, double scale, bool is_triangle) {
    const Input<float> scores(in);
    const Output<float> probabilities(out);
    const cuda::Hidden hidden(mask, in, is_triangle);
    cuda::softmax(probabilities.data(), scores.data(), hidden, cuda::row_count(in), scale);
    probabilities.store();
}

void masked_softmax_gradient(const Tensor& grad_in, const Tensor& grad_out, const Tensor& out, const Tensor& mask,
                             double scale, bool is_triangle) {
    const Input<float> gradients(grad_out);
    const Input<float> probabilities(out);
    const Output<float> results(grad_in);
    const cuda::Hidden hidden(mask, out, is_triangle);
    cuda::softmax_gradient(results.data(), gradients.data(), probabilities.data(), hidden, cuda::row_count(out), scale);
    results.store();
}

}  // namespace diopi::cpu::attention
