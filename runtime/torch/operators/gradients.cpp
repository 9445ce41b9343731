// Gradients of products and of pooling, for callers that ask for them by name, and weights that are normalised.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_embedding_bag_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/norm_except_dim.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/call.h>

#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

at::Tensor requested(bool is_requested, const at::Tensor& like) {
    return is_requested ? at::empty_like(like, at::MemoryFormat::Contiguous) : at::Tensor();
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& self, const at::Tensor& grad_output,
                                                               const at::Tensor& weight,
                                                               std::array<bool, 3> output_mask) {
    at::Tensor grad_input = requested(output_mask[0], self);
    at::Tensor grad_weight = requested(output_mask[1], weight);
    at::Tensor grad_bias = output_mask[2] ? at::empty({weight.size(0)}, weight.options()) : at::Tensor();
    Call call(self);
    call("diopiLinearBackward", diopiLinearBackward, optional(grad_input), optional(grad_weight), optional(grad_bias),
         Input(call, grad_output), Input(call, self, kFloating | kComplex), Input(call, weight));
    return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
}

std::tuple<at::Tensor, at::Tensor> matmul_backward(const at::Tensor& grad, const at::Tensor& self,
                                                   const at::Tensor& other, std::array<bool, 2> mask) {
    at::Tensor grad_self = requested(mask[0], self);
    at::Tensor grad_other = requested(mask[1], other);
    Call call(self);
    call("diopiMatmulBackward", diopiMatmulBackward, optional(grad_self), optional(grad_other), Input(call, grad),
         Input(call, self, kFloating | kComplex), Input(call, other));
    return {std::move(grad_self), std::move(grad_other)};
}

at::Tensor embedding_bag_backward(const at::Tensor& grad, const at::Tensor& indices, const at::Tensor& offsets,
                                  const at::Tensor& offset2bag, const at::Tensor& bag_size,
                                  const at::Tensor& maximum_indices, int64_t num_weights, bool scale_grad_by_freq,
                                  int64_t mode, bool sparse, const MaybeTensor& per_sample_weights,
                                  int64_t padding_idx) {
    if (!scale_grad_by_freq || sparse || indices.numel() == 0) {
        fall_back("no function of the interface serves it");
    }
    const at::Tensor sums = at::_embedding_bag_backward(
        grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights,
        /*scale_grad_by_freq=*/false, mode, /*sparse=*/false, per_sample_weights, padding_idx);
    const at::Tensor one = at::ones({1}, grad.options().dtype(at::kFloat)).expand(indices.sizes());
    const at::Tensor counts = at::zeros({num_weights}, one.options()).index_add_(0, indices.to(at::kLong), one);
    return sums.div(counts.clamp_min_(1).unsqueeze(1)).to(sums.scalar_type());
}

at::Tensor max_pool2d_backward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef kernel_size,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                               bool ceil_mode) {
    const at::Tensor indices =
        std::get<1>(at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
    return at::max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
                                                indices);
}

std::tuple<at::Tensor, at::Tensor> weight_norm_interface(const at::Tensor& v, const at::Tensor& g, int64_t dim) {
    at::Tensor norms = at::norm_except_dim(v, 2, dim);
    return {v * (g / norms), std::move(norms)};
}

std::tuple<at::Tensor, at::Tensor> weight_norm_interface_backward(const at::Tensor& grad_w, const at::Tensor& saved_v,
                                                                  const at::Tensor& saved_g,
                                                                  const at::Tensor& saved_norms, int64_t dim) {
    std::vector<int64_t> others;
    for (int64_t i = 0; i < saved_v.dim(); ++i) {
        if (i != dim) {
            others.push_back(i);
        }
    }
    // Over no dimensions PyTorch would sum over all of them.
    at::Tensor along = grad_w * saved_v;
    along = (others.empty() ? along : along.sum(others, /*keepdim=*/true)) / saved_norms;
    return {(saved_g / saved_norms) * (grad_w - saved_v * (along / saved_norms)), along};
}

}  // namespace diopigen::backend::kernels
