// ScaledMaskedSoftmax (Megatron-LM) and its gradient: the last dimension of [batch, heads, queries, keys]; a hidden
// score counts as -10000.
#include <diopi/functions_ext.h>

#include <algorithm>
#include <cmath>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"
#include "operands.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kDtypes = kFloat16 | kBfloat16 | kFloat32;

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

DIOPI_API diopiError_t diopiScaledMaskedSoftmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t output,
                                                diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                                                double scale, bool fixed_triu_mask) {
    return guarded("diopiScaledMaskedSoftmax", [&] {
        const Tensor out = tensor("output", output, kDtypes);
        const Tensor in = tensor("input", input, kDtypes);
        const Tensor mask_tensor = tensor("mask", mask, kMask);
        require_rank(in, 4, 4);
        require_same_dtype(out, in);
        require_same_shape(out, in);
        require_broadcastable(mask_tensor, in);
        require_no_overlap(out);
        require_no_overlap(out, in);
        require_disjoint(out, mask_tensor);
        require_one_device({&out, &in, &mask_tensor});
        const Hidden hidden(mask_tensor, in, fixed_triu_mask);
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
    });
}

DIOPI_API diopiError_t diopiScaledMaskedSoftmaxBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                        diopiConstTensorHandle_t grad_output,
                                                        diopiConstTensorHandle_t output, diopiConstTensorHandle_t mask,
                                                        double scale, bool fixed_triu_mask) {
    return guarded("diopiScaledMaskedSoftmaxBackward", [&] {
        const Tensor grad_in = tensor("grad_input", grad_input, kDtypes);
        const Tensor grad_out = tensor("grad_output", grad_output, kDtypes);
        const Tensor out = tensor("output", output, kDtypes);
        const Tensor mask_tensor = tensor("mask", mask, kMask);
        require_rank(out, 4, 4);
        for (const Tensor* other : {&grad_in, &grad_out}) {
            require_same_dtype(*other, out);
            require_same_shape(*other, out);
        }
        require_broadcastable(mask_tensor, out);
        require_no_overlap(grad_in);
        require_no_overlap(grad_in, grad_out);
        require_no_overlap(grad_in, out);
        require_disjoint(grad_in, mask_tensor);
        require_one_device({&grad_in, &grad_out, &out, &mask_tensor});
        const Hidden hidden(mask_tensor, out, fixed_triu_mask);
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
    });
}
