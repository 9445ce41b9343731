// Scaled dot product attention over diopiFlashAttention, for what it can say: float16 and bfloat16, no mask, no
// dropout. PyTorch computes anything else from matrix products and a softmax.
#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/empty.h>
#include <diopigen_torch/call.h>

#include <cmath>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

constexpr int32_t kNoWindow = -1;
// Of (batch, heads, sequence, size).
constexpr int64_t kHeads = 1;
constexpr int64_t kSequence = 2;
constexpr int64_t kRank = 4;

// Sizes may be symbols: PyTorch asks for its choice while it compiles a graph.
bool is_expressible(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const MaybeTensor& mask,
                    double dropout, bool is_causal) {
    const at::ScalarType type = query.scalar_type();
    if ((type != at::kHalf && type != at::kBFloat16) || key.scalar_type() != type || value.scalar_type() != type) {
        return false;
    }
    if (is_defined(mask) || dropout != 0 || query.dim() != kRank || key.dim() != kRank) {
        return false;
    }
    if (query.sym_numel() == 0 || key.sym_numel() == 0 || value.sym_sizes() != key.sym_sizes() ||
        query.sym_size(-1) != key.sym_size(-1) || query.sym_size(0) != key.sym_size(0) ||
        query.sym_size(kHeads) % key.sym_size(kHeads) != 0) {
        return false;
    }
    // The interface lines up the ends of queries and keys, PyTorch their beginnings.
    return !is_causal || query.sym_size(kSequence) == key.sym_size(kSequence);
}

double scale_of(const at::Tensor& query, std::optional<double> scale) {
    return scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
}

// The interface has (batch, sequence, heads, size).
at::Tensor transposed(const at::Tensor& tensor) { return tensor.transpose(kHeads, kSequence); }
at::Tensor empty_transposed(const at::Tensor& like) {
    return at::empty({like.size(0), like.size(kSequence), like.size(kHeads), like.size(-1)}, like.options());
}

}  // namespace

int64_t fused_sdp_choice(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const MaybeTensor& attn_mask, double dropout_p, bool is_causal,
                         std::optional<double> /*scale*/, bool /*enable_gqa*/) {
    const auto& settings = at::globalContext();
    at::SDPBackend selected = at::SDPBackend::error;
    if (settings.userEnabledOverrideableSDP() && diopiFlashAttention != nullptr &&
        diopiFlashAttentionBackward != nullptr && is_expressible(query, key, value, attn_mask, dropout_p, is_causal)) {
        selected = at::SDPBackend::overrideable;
    } else if (settings.userEnabledMathSDP()) {
        selected = at::SDPBackend::math;
    }
    return static_cast<int64_t>(selected);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const MaybeTensor& attn_bias,
       double dropout_p, bool is_causal, bool /*return_debug_mask*/, std::optional<double> scale) {
    TORCH_CHECK(is_expressible(query, key, value, attn_bias, dropout_p, is_causal),
                "_scaled_dot_product_fused_attention_overrideable: expected batches of heads in float16 or bfloat16, ",
                "without mask and dropout");
    Call call(query);
    at::Tensor out = empty_transposed(query);
    at::Tensor sums =
        at::empty({query.size(0), query.size(kHeads), query.size(kSequence)}, query.options().dtype(at::kFloat));
    call("diopiFlashAttention", diopiFlashAttention, Output(out), Output(sums), call.generator(std::nullopt),
         Input(call, transposed(query)), Input(call, transposed(key)), Input(call, transposed(value)),
         OptionalInput(call, std::nullopt), 0.0, scale_of(query, scale), is_causal, kNoWindow, kNoWindow);
    const at::Tensor unused = at::empty({0}, query.options().dtype(at::kLong));
    return {transposed(out),     std::move(sums), at::Tensor(), at::Tensor(), query.size(kSequence),
            key.size(kSequence), unused,          unused,       at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attend_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& /*attn_bias*/, std::array<bool, 4> grad_input_mask, const at::Tensor& out,
    const at::Tensor& logsumexp, const at::Tensor& /*cum_seq_q*/, const at::Tensor& /*cum_seq_k*/, int64_t /*max_q*/,
    int64_t /*max_k*/, double /*dropout_p*/, bool is_causal, const at::Tensor& /*philox_seed*/,
    const at::Tensor& /*philox_offset*/, std::optional<double> scale) {
    Call call(query);
    at::Tensor grad_query = empty_transposed(query);
    at::Tensor grad_key = empty_transposed(key);
    at::Tensor grad_value = empty_transposed(value);
    call("diopiFlashAttentionBackward", diopiFlashAttentionBackward, Output(grad_query), Output(grad_key),
         Output(grad_value), Input(call, transposed(grad_out), query.scalar_type()), call.generator(std::nullopt),
         Input(call, transposed(query)), Input(call, transposed(key)), Input(call, transposed(value)),
         OptionalInput(call, std::nullopt), Input(call, transposed(out)), Input(call, logsumexp), 0.0,
         scale_of(query, scale), is_causal, kNoWindow, kNoWindow);
    const auto requested = [&](size_t index, const at::Tensor& gradient) {
        return grad_input_mask[index] ? transposed(gradient) : at::Tensor();
    };
    return {requested(0, grad_query), requested(1, grad_key), requested(2, grad_value), at::Tensor()};
}

}  // namespace diopigen::backend::kernels

namespace at::native {

// scaled_dot_product_attention asks here, past the dispatcher.
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &diopigen::backend::kernels::fused_sdp_choice)

}  // namespace at::native
