#include <algorithm>
#include <cmath>

#include "attention/attention_kernels.h"
#include "diopi_core/dense.h"
#include "diopi_core/reduction.h"

namespace diopigen::core::attention {

namespace {

// Which scores are hidden: those that the mask names, or those above the diagonal.
class Hidden {
  public:
    Hidden(const Tensor& mask, const Tensor& scores, bool is_triangle)
        : is_triangle_(is_triangle),
          bytes_(static_cast<const uint8_t*>(mask.data)),
          view_(expanded(mask, shape_of(scores))),
          scores_(scores) {}

    // Calls `apply(j, is_hidden)` for the scores of a row, counted over all dimensions but the last.
    template <typename Apply>
    void for_row(int64_t row, Apply&& apply) const {
        const int64_t keys = scores_.shape[3];
        const int64_t query = row % scores_.shape[2];
        if (is_triangle_) {
            for (int64_t j = 0; j < keys; ++j) {
                apply(j, j > query);
            }
            return;
        }
        const int64_t* strides = view_.tensor().strides;
        const int64_t head = row / scores_.shape[2] % scores_.shape[1];
        const int64_t batch = row / scores_.shape[2] / scores_.shape[1];
        const uint8_t* bytes = bytes_ + batch * strides[0] + head * strides[1] + query * strides[2];
        for (int64_t j = 0; j < keys; ++j) {
            apply(j, bytes[j * strides[3]] != 0);
        }
    }

  private:
    bool is_triangle_;
    const uint8_t* bytes_;
    View view_;
    const Tensor& scores_;
};

// How many rows there are; none where they have no elements.
int64_t row_count(const Tensor& scores) { return scores.numel == 0 ? 0 : scores.numel / scores.shape[3]; }

}  // namespace

void masked_softmax(const Tensor& out, const Tensor& in, const Tensor& mask, double scale, bool is_triangle) {
    const Hidden hidden(mask, in, is_triangle);
    const Input<float> scores(in);
    const Output<float> probabilities(out);
    const int64_t keys = in.shape[3];
    parallel_for(row_count(in), row_grain(keys), [&](int64_t begin, int64_t end) {
        std::vector<double> scaled(static_cast<size_t>(keys));
        for (int64_t row = begin; row < end; ++row) {
            hidden.for_row(row, [&](int64_t j, bool is_hidden) {
                scaled[static_cast<size_t>(j)] =
                    is_hidden ? -10000.0 : scale * static_cast<double>(scores[row * keys + j]);
            });
            const double maximum = *std::max_element(scaled.begin(), scaled.end());
            double sum = 0;
            for (double& score : scaled) {
                score = std::exp(score - maximum);
                sum += score;
            }
            for (int64_t j = 0; j < keys; ++j) {
                probabilities[row * keys + j] = static_cast<float>(scaled[static_cast<size_t>(j)] / sum);
            }
        }
    });
    probabilities.store();
}

void masked_softmax_gradient(const Tensor& grad_in, const Tensor& grad_out, const Tensor& out, const Tensor& mask,
                             double scale, bool is_triangle) {
    const Hidden hidden(mask, out, is_triangle);
    const Input<float> gradients(grad_out);
    const Input<float> probabilities(out);
    const Output<float> results(grad_in);
    const int64_t keys = out.shape[3];
    parallel_for(row_count(out), row_grain(keys), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const float* p = probabilities.data() + row * keys;
            const float* g = gradients.data() + row * keys;
            double sum = 0;
            for (int64_t j = 0; j < keys; ++j) {
                sum += static_cast<double>(g[j]) * static_cast<double>(p[j]);
            }
            hidden.for_row(row, [&](int64_t j, bool is_hidden) {
                const double centred = static_cast<double>(g[j]) - sum;
                const double gradient = scale * static_cast<double>(p[j]) * centred;
                results[row * keys + j] = is_hidden ? 0.0f : static_cast<float>(gradient);
            });
        }
    });
    results.store();
}

}  // namespace diopigen::core::attention
