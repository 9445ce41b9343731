// The layers of torch.nn.Transformer that PyTorch calls as one operator where no gradient is needed.
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <diopigen_torch/call.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

enum class MaskKind : int64_t { kPairs = 0, kPadding = 1, kFull = 2 };

// The mask, true where nothing is attended to, as it broadcasts to scores [batch, heads, queries, keys].
at::Tensor shaped(const at::Tensor& mask, std::optional<int64_t> kind) {
    const at::Tensor flags = mask.to(at::kBool);
    if (kind == static_cast<int64_t>(MaskKind::kPadding) && mask.dim() == 2) {
        return flags.unsqueeze(1).unsqueeze(1);
    }
    if (kind == static_cast<int64_t>(MaskKind::kPairs) && mask.dim() == 2) {
        return flags.unsqueeze(0).unsqueeze(0);
    }
    if (kind == static_cast<int64_t>(MaskKind::kFull) && mask.dim() == 4) {
        return flags;
    }
    fall_back("PyTorch rejects this mask, or has a rule of its own for it");
}

bool is_plain(const at::Tensor& tensor) { return tensor.dim() == 3 && is_in(kFloating, tensor.scalar_type()); }

// Third number `part` of what query, key and value are multiplied with.
at::Tensor projected(const at::Tensor& tensor, const at::Tensor& weight, const at::Tensor& bias, int64_t part,
                     int64_t heads) {
    const int64_t width = weight.size(1);
    const at::Tensor all =
        at::linear(tensor, weight.narrow(0, part * width, width), bias.narrow(0, part * width, width));
    return all.reshape({all.size(0), all.size(1), heads, width / heads}).transpose(1, 2);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> native_multi_head_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t embed_dim, int64_t num_head,
    const at::Tensor& qkv_weight, const at::Tensor& qkv_bias, const at::Tensor& proj_weight,
    const at::Tensor& proj_bias, const std::optional<at::Tensor>& mask, bool need_weights, bool average_attn_weights,
    std::optional<int64_t> mask_type) {
    if (!is_plain(query) || !is_plain(key) || !is_plain(value) || num_head <= 0 || embed_dim % num_head != 0 ||
        query.size(2) != embed_dim || key.size(2) != embed_dim || value.size(2) != embed_dim || qkv_weight.dim() != 2 ||
        qkv_weight.size(0) != 3 * embed_dim || qkv_weight.size(1) != embed_dim || qkv_bias.dim() != 1 ||
        qkv_bias.size(0) != 3 * embed_dim || query.numel() == 0) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    const double scale = 1 / std::sqrt(static_cast<double>(embed_dim / num_head));
    const at::Tensor queries = projected(query, qkv_weight, qkv_bias, 0, num_head).mul(scale);
    const at::Tensor keys = projected(key, qkv_weight, qkv_bias, 1, num_head);
    const at::Tensor values = projected(value, qkv_weight, qkv_bias, 2, num_head);
    at::Tensor scores = queries.matmul(keys.transpose(-2, -1));
    if (is_defined(mask)) {
        scores = scores.masked_fill(shaped(*mask, mask_type), -std::numeric_limits<double>::infinity());
    }
    at::Tensor weights = scores.softmax(-1);
    const at::Tensor attended = weights.matmul(values).transpose(1, 2).reshape(query.sizes());
    at::Tensor result = at::linear(attended, proj_weight, proj_bias);
    if (!need_weights) {
        return {std::move(result), at::Tensor()};
    }
    return {std::move(result), average_attn_weights ? weights.mean(1) : weights};
}

at::Tensor transformer_encoder_layer_fwd(const at::Tensor& src, int64_t embed_dim, int64_t num_heads,
                                         const at::Tensor& qkv_weight, const at::Tensor& qkv_bias,
                                         const at::Tensor& proj_weight, const at::Tensor& proj_bias, bool use_gelu,
                                         bool norm_first, double eps, const at::Tensor& norm_weight_1,
                                         const at::Tensor& norm_bias_1, const at::Tensor& norm_weight_2,
                                         const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1,
                                         const at::Tensor& ffn_bias_1, const at::Tensor& ffn_weight_2,
                                         const at::Tensor& ffn_bias_2, const std::optional<at::Tensor>& mask,
                                         std::optional<int64_t> mask_type) {
    const auto normalized = [&](const at::Tensor& tensor, const at::Tensor& weight, const at::Tensor& bias) {
        return at::layer_norm(tensor, {embed_dim}, weight, bias, eps);
    };
    const at::Tensor first = norm_first ? normalized(src, norm_weight_1, norm_bias_1) : src;
    at::Tensor attended =
        std::get<0>(native_multi_head_attention(first, first, first, embed_dim, num_heads, qkv_weight, qkv_bias,
                                                proj_weight, proj_bias, mask, false, true, mask_type))
            .add(src);
    attended = norm_first ? attended : normalized(attended, norm_weight_1, norm_bias_1);
    const at::Tensor second = norm_first ? normalized(attended, norm_weight_2, norm_bias_2) : attended;
    const at::Tensor inner = at::linear(second, ffn_weight_1, ffn_bias_1);
    const at::Tensor passed = at::linear(use_gelu ? at::gelu(inner) : inner.relu(), ffn_weight_2, ffn_bias_2);
    const at::Tensor result = passed.add(attended);
    return norm_first ? result : normalized(result, norm_weight_2, norm_bias_2);
}

}  // namespace diopigen::backend::kernels
