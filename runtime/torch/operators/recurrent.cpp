// The cells of LSTM and GRU, from elementwise operators of the device: PyTorch asks every device for them whole.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros_like.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

at::Tensor shifted(const at::Tensor& gates, const MaybeTensor& bias) {
    return is_defined(bias) ? gates + *bias : gates;
}

void check_gates(const char* name, const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                 const at::Tensor& state, int64_t count) {
    TORCH_CHECK(input_gates.dim() == 2, name, ": expected gates of 2 dimensions, but got ", input_gates.sizes());
    TORCH_CHECK(input_gates.sizes() == hidden_gates.sizes(), name, ": expected gates of one size, but got ",
                input_gates.sizes(), " and ", hidden_gates.sizes());
    TORCH_CHECK(
        state.dim() == 2 && state.size(0) == input_gates.size(0) && state.size(1) * count == input_gates.size(1), name,
        ": expected a state of ", input_gates.size(0), " x ", input_gates.size(1) / count, ", but got ", state.sizes());
}

}  // namespace

// Gates are contiguous: input, forget, cell, output. The workspace keeps them after their activations.
std::tuple<at::Tensor, at::Tensor, at::Tensor> thnn_fused_lstm_cell(const at::Tensor& input_gates,
                                                                    const at::Tensor& hidden_gates,
                                                                    const at::Tensor& cx, const MaybeTensor& input_bias,
                                                                    const MaybeTensor& hidden_bias) {
    check_gates("_thnn_fused_lstm_cell", input_gates, hidden_gates, cx, 4);
    const at::Tensor gates = shifted(input_gates, input_bias) + shifted(hidden_gates, hidden_bias);
    const auto chunks = gates.chunk(4, 1);
    const at::Tensor in = at::sigmoid(chunks[0]);
    const at::Tensor forget = at::sigmoid(chunks[1]);
    const at::Tensor cell = at::tanh(chunks[2]);
    const at::Tensor out = at::sigmoid(chunks[3]);
    at::Tensor cy = forget * cx + in * cell;
    at::Tensor hy = out * at::tanh(cy);
    return {std::move(hy), std::move(cy), at::cat({in, forget, cell, out}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> thnn_fused_lstm_cell_backward_impl(
    const MaybeTensor& grad_hy, const MaybeTensor& grad_cy, const at::Tensor& cx, const at::Tensor& cy,
    const at::Tensor& workspace, bool has_bias) {
    const bool has_hidden = is_defined(grad_hy);
    const bool has_cell = is_defined(grad_cy);
    if (!has_hidden && !has_cell) {
        return {};
    }
    TORCH_CHECK(workspace.dim() == 2 && workspace.size(1) == 4 * cx.size(-1),
                "_thnn_fused_lstm_cell_backward: a workspace of sizes ", workspace.sizes(), " for a state of sizes ",
                cx.sizes());
    const auto chunks = workspace.chunk(4, 1);
    const at::Tensor& in = chunks[0];
    const at::Tensor& forget = chunks[1];
    const at::Tensor& cell = chunks[2];
    const at::Tensor& out = chunks[3];
    const at::Tensor squashed = at::tanh(cy);
    at::Tensor grad_cell = has_cell ? *grad_cy : at::Tensor();
    at::Tensor grad_out;
    if (has_hidden) {
        const at::Tensor through = at::tanh_backward(*grad_hy * out, squashed);
        grad_cell = has_cell ? grad_cell + through : through;
        grad_out = at::sigmoid_backward(*grad_hy * squashed, out);
    } else {
        grad_out = at::zeros_like(out);
    }
    at::Tensor grad_gates =
        at::cat({at::sigmoid_backward(grad_cell * cell, in), at::sigmoid_backward(grad_cell * cx, forget),
                 at::tanh_backward(grad_cell * in, cell), grad_out},
                1);
    at::Tensor grad_bias = has_bias ? grad_gates.sum(0) : at::Tensor();
    return {std::move(grad_gates), grad_cell * forget, std::move(grad_bias)};
}

// Gates are contiguous: reset, update, new. The workspace keeps them after their activations, then the state and the
// hidden part of the new gate, as on CUDA.
std::tuple<at::Tensor, at::Tensor> thnn_fused_gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                       const at::Tensor& hx, const MaybeTensor& input_bias,
                                                       const MaybeTensor& hidden_bias) {
    check_gates("_thnn_fused_gru_cell", input_gates, hidden_gates, hx, 3);
    const at::Tensor input = shifted(input_gates, input_bias);
    const at::Tensor hidden = shifted(hidden_gates, hidden_bias);
    const auto input_chunks = input.chunk(3, 1);
    const auto hidden_chunks = hidden.chunk(3, 1);
    const at::Tensor reset = at::sigmoid(input_chunks[0] + hidden_chunks[0]);
    const at::Tensor update = at::sigmoid(input_chunks[1] + hidden_chunks[1]);
    const at::Tensor fresh = at::tanh(input_chunks[2] + reset * hidden_chunks[2]);
    at::Tensor hy = fresh + update * (hx - fresh);
    return {std::move(hy), at::cat({reset, update, fresh, hx, hidden_chunks[2]}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> thnn_fused_gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
    TORCH_CHECK(workspace.dim() == 2 && workspace.size(1) == 5 * grad_hy.size(-1),
                "_thnn_fused_gru_cell_backward: a workspace of sizes ", workspace.sizes(), " for gradients of sizes ",
                grad_hy.sizes());
    const auto chunks = workspace.chunk(5, 1);
    const at::Tensor& reset = chunks[0];
    const at::Tensor& update = chunks[1];
    const at::Tensor& fresh = chunks[2];
    const at::Tensor& state = chunks[3];
    const at::Tensor& hidden = chunks[4];
    at::Tensor grad_state = grad_hy * update;
    const at::Tensor grad_update = at::sigmoid_backward(grad_hy * (state - fresh), update);
    const at::Tensor grad_fresh = at::tanh_backward(grad_hy - grad_state, fresh);
    const at::Tensor grad_reset = at::sigmoid_backward(grad_fresh * hidden, reset);
    at::Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
    at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
    at::Tensor grad_input_bias = has_bias ? grad_input.sum(0) : at::Tensor();
    at::Tensor grad_hidden_bias = has_bias ? grad_hidden.sum(0) : at::Tensor();
    return {std::move(grad_input), std::move(grad_hidden), std::move(grad_state), std::move(grad_input_bias),
            std::move(grad_hidden_bias)};
}

}  // namespace diopigen::backend::kernels
