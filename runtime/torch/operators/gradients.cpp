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

at::Tensor requested(bool isRequested, const at::Tensor& like) {
    return isRequested ? at::empty_like(like, at::MemoryFormat::Contiguous) : at::Tensor();
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> linearBackward(const at::Tensor& self, const at::Tensor& grad_output,
                                                              const at::Tensor& weight,
                                                              std::array<bool, 3> output_mask) {
    at::Tensor gradInput = requested(output_mask[0], self);
    at::Tensor gradWeight = requested(output_mask[1], weight);
    at::Tensor gradBias = output_mask[2] ? at::empty({weight.size(0)}, weight.options()) : at::Tensor();
    Call call(self);
    call("diopiLinearBackward", diopiLinearBackward, optional(gradInput), optional(gradWeight), optional(gradBias),
         Input(call, grad_output), Input(call, self, kFloating | kComplex), Input(call, weight));
    return {std::move(gradInput), std::move(gradWeight), std::move(gradBias)};
}

std::tuple<at::Tensor, at::Tensor> matmulBackward(const at::Tensor& grad, const at::Tensor& self,
                                                  const at::Tensor& other, std::array<bool, 2> mask) {
    at::Tensor gradSelf = requested(mask[0], self);
    at::Tensor gradOther = requested(mask[1], other);
    Call call(self);
    call("diopiMatmulBackward", diopiMatmulBackward, optional(gradSelf), optional(gradOther), Input(call, grad),
         Input(call, self, kFloating | kComplex), Input(call, other));
    return {std::move(gradSelf), std::move(gradOther)};
}

at::Tensor embeddingBagBackward(const at::Tensor& grad, const at::Tensor& indices, const at::Tensor& offsets,
                                const at::Tensor& offset2bag, const at::Tensor& bag_size,
                                const at::Tensor& maximum_indices, int64_t num_weights, bool scale_grad_by_freq,
                                int64_t mode, bool sparse, const MaybeTensor& per_sample_weights, int64_t padding_idx) {
    if (!scale_grad_by_freq || sparse || indices.numel() == 0) {
        fallBack("no function of the interface serves it");
    }
    const at::Tensor sums = at::_embedding_bag_backward(
        grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights,
        /*scale_grad_by_freq=*/false, mode, /*sparse=*/false, per_sample_weights, padding_idx);
    const at::Tensor one = at::ones({1}, grad.options().dtype(at::kFloat)).expand(indices.sizes());
    const at::Tensor counts = at::zeros({num_weights}, one.options()).index_add_(0, indices.to(at::kLong), one);
    return sums.div(counts.clamp_min_(1).unsqueeze(1)).to(sums.scalar_type());
}

at::Tensor maxPool2dBackward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef kernel_size,
                             at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                             bool ceil_mode) {
    const at::Tensor indices =
        std::get<1>(at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
    return at::max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
                                                indices);
}

std::tuple<at::Tensor, at::Tensor> weightNormInterface(const at::Tensor& v, const at::Tensor& g, int64_t dim) {
    at::Tensor norms = at::norm_except_dim(v, 2, dim);
    return {v * (g / norms), std::move(norms)};
}

std::tuple<at::Tensor, at::Tensor> weightNormInterfaceBackward(const at::Tensor& grad_w, const at::Tensor& saved_v,
                                                               const at::Tensor& saved_g, const at::Tensor& saved_norms,
                                                               int64_t dim) {
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
