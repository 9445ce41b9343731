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

at::Tensor shifted(const at::Tensor& gates, const MaybeTensor& bias) { return isDefined(bias) ? gates + *bias : gates; }

void checkGates(const char* name, const at::Tensor& inputGates, const at::Tensor& hiddenGates, const at::Tensor& state,
                int64_t count) {
    TORCH_CHECK(inputGates.dim() == 2, name, ": expected gates of 2 dimensions, but got ", inputGates.sizes());
    TORCH_CHECK(inputGates.sizes() == hiddenGates.sizes(), name, ": expected gates of one size, but got ",
                inputGates.sizes(), " and ", hiddenGates.sizes());
    TORCH_CHECK(state.dim() == 2 && state.size(0) == inputGates.size(0) && state.size(1) * count == inputGates.size(1),
                name, ": expected a state of ", inputGates.size(0), " x ", inputGates.size(1) / count, ", but got ",
                state.sizes());
}

}  // namespace

// Gates are contiguous: input, forget, cell, output. The workspace keeps them after their activations.
std::tuple<at::Tensor, at::Tensor, at::Tensor> thnnFusedLstmCell(const at::Tensor& input_gates,
                                                                 const at::Tensor& hidden_gates, const at::Tensor& cx,
                                                                 const MaybeTensor& input_bias,
                                                                 const MaybeTensor& hidden_bias) {
    checkGates("_thnn_fused_lstm_cell", input_gates, hidden_gates, cx, 4);
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

std::tuple<at::Tensor, at::Tensor, at::Tensor> thnnFusedLstmCellBackwardImpl(const MaybeTensor& grad_hy,
                                                                             const MaybeTensor& grad_cy,
                                                                             const at::Tensor& cx, const at::Tensor& cy,
                                                                             const at::Tensor& workspace,
                                                                             bool has_bias) {
    const bool hasHidden = isDefined(grad_hy);
    const bool hasCell = isDefined(grad_cy);
    if (!hasHidden && !hasCell) {
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
    at::Tensor gradCell = hasCell ? *grad_cy : at::Tensor();
    at::Tensor gradOut;
    if (hasHidden) {
        const at::Tensor through = at::tanh_backward(*grad_hy * out, squashed);
        gradCell = hasCell ? gradCell + through : through;
        gradOut = at::sigmoid_backward(*grad_hy * squashed, out);
    } else {
        gradOut = at::zeros_like(out);
    }
    at::Tensor gradGates =
        at::cat({at::sigmoid_backward(gradCell * cell, in), at::sigmoid_backward(gradCell * cx, forget),
                 at::tanh_backward(gradCell * in, cell), gradOut},
                1);
    at::Tensor gradBias = has_bias ? gradGates.sum(0) : at::Tensor();
    return {std::move(gradGates), gradCell * forget, std::move(gradBias)};
}

// Gates are contiguous: reset, update, new. The workspace keeps them after their activations, then the state and the
// hidden part of the new gate, as on CUDA.
std::tuple<at::Tensor, at::Tensor> thnnFusedGruCell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                    const at::Tensor& hx, const MaybeTensor& input_bias,
                                                    const MaybeTensor& hidden_bias) {
    checkGates("_thnn_fused_gru_cell", input_gates, hidden_gates, hx, 3);
    const at::Tensor input = shifted(input_gates, input_bias);
    const at::Tensor hidden = shifted(hidden_gates, hidden_bias);
    const auto inputChunks = input.chunk(3, 1);
    const auto hiddenChunks = hidden.chunk(3, 1);
    const at::Tensor reset = at::sigmoid(inputChunks[0] + hiddenChunks[0]);
    const at::Tensor update = at::sigmoid(inputChunks[1] + hiddenChunks[1]);
    const at::Tensor fresh = at::tanh(inputChunks[2] + reset * hiddenChunks[2]);
    at::Tensor hy = fresh + update * (hx - fresh);
    return {std::move(hy), at::cat({reset, update, fresh, hx, hiddenChunks[2]}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> thnnFusedGruCellBackward(
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
    at::Tensor gradState = grad_hy * update;
    const at::Tensor gradUpdate = at::sigmoid_backward(grad_hy * (state - fresh), update);
    const at::Tensor gradFresh = at::tanh_backward(grad_hy - gradState, fresh);
    const at::Tensor gradReset = at::sigmoid_backward(gradFresh * hidden, reset);
    at::Tensor gradInput = at::cat({gradReset, gradUpdate, gradFresh}, 1);
    at::Tensor gradHidden = at::cat({gradReset, gradUpdate, gradFresh * reset}, 1);
    at::Tensor gradInputBias = has_bias ? gradInput.sum(0) : at::Tensor();
    at::Tensor gradHiddenBias = has_bias ? gradHidden.sum(0) : at::Tensor();
    return {std::move(gradInput), std::move(gradHidden), std::move(gradState), std::move(gradInputBias),
            std::move(gradHiddenBias)};
}

}  // namespace diopigen::backend::kernels
