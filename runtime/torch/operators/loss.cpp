// Losses, and gradients of losses, that PyTorch has no meta function for.
#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/forms.h>

#include <algorithm>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// The shape of a loss of each element, or of one.
at::IntArrayRef loss_sizes(const at::Tensor& losses, int64_t reduction) {
    return reduction_of(reduction) == ReductionNone ? losses.sizes() : at::IntArrayRef();
}

at::TensorOptions options_like(const at::Tensor& self) {
    return self.options().memory_format(self.suggest_memory_format());
}

// The interface wants targets of the shape of the predictions; PyTorch lets them broadcast.
at::Tensor like_self(const at::Tensor& target, const at::Tensor& self) {
    if (target.sizes() == self.sizes() || is_number(target)) {
        return target;
    }
    if (target.dim() > self.dim() || at::infer_size(target.sizes(), self.sizes()) != self.sizes()) {
        fall_back("the targets have more elements than the predictions");
    }
    return target.expand_as(self);
}

at::Tensor expanded(const at::Tensor& tensor, at::IntArrayRef sizes, const Call& call) {
    const at::Tensor here = is_number(tensor) ? tensor.to(call.options(tensor.scalar_type())) : tensor;
    return here.expand(sizes);
}

void require_class_indices(const at::Tensor& target) {
    if (target.scalar_type() != at::kLong && target.scalar_type() != at::kByte) {
        fall_back("class indices are int64");
    }
}

void check_planes(const at::Tensor& self, const at::Tensor& target, const MaybeTensor& weight) {
    TORCH_CHECK(target.dim() == 3,
                "only batches of spatial targets supported (3D tensors) but got targets of size: : ", target.sizes());
    TORCH_CHECK(self.dim() == 4,
                "only batches of spatial inputs supported (4D tensors), but got input of size: ", self.sizes());
    TORCH_CHECK(!weight.has_value() || !weight->defined() || weight->numel() == self.size(1),
                "weight tensor should be defined either for all or no classes");
    TORCH_CHECK(self.size(0) == target.size(0) && self.size(2) == target.size(1) && self.size(3) == target.size(2),
                "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes(), ")");
    require_class_indices(target);
}

}  // namespace

std::tuple<at::Tensor&, at::Tensor&> nll_loss2d_forward(const at::Tensor& self, const at::Tensor& target,
                                                        const MaybeTensor& weight, int64_t reduction,
                                                        int64_t ignore_index, at::Tensor& output,
                                                        at::Tensor& total_weight) {
    check_planes(self, target, weight);
    make_or_resize(output, loss_sizes(target, reduction), self.options());
    make_or_resize(total_weight, {}, self.options());
    require_same_dtype(self, weight);
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(output, type);
    Output total(total_weight, type);
    call("diopiNLLLossV2", diopiNLLLossV2, written, total, Input(call, self, kFloating), Input(call, target, at::kLong),
         OptionalInput(call, weight, type), reduction_of(reduction), ignore_index);
    written.finish();
    total.finish();
    return {output, total_weight};
}

at::Tensor& nll_loss2d_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
                                const MaybeTensor& weight, int64_t reduction, int64_t ignore_index,
                                const at::Tensor& total_weight, at::Tensor& grad_input) {
    check_planes(self, target, weight);
    make_or_resize(grad_input, self.sizes(), self.options());
    require_same_dtype(self, weight);
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(grad_input, type);
    call("diopiNLLLossV2Backward", diopiNLLLossV2Backward, written, Input(call, grad_output, type),
         Input(call, self, kFloating), Input(call, target, at::kLong), OptionalInput(call, weight, type),
         Input(call, total_weight, type), reduction_of(reduction), ignore_index);
    written.finish();
    return grad_input;
}

at::Tensor& binary_cross_entropy(const at::Tensor& self, const at::Tensor& target, const MaybeTensor& weight,
                                 int64_t reduction, at::Tensor& out) {
    make_or_resize(out, loss_sizes(self, reduction), self.options());
    require_same_dtype(self, target);
    require_same_dtype(self, weight);
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(out, type);
    call("diopiBCELoss", diopiBCELoss, written, Input(call, self, kFloating),
         Input(call, like_self(target, self), type), OptionalInput(call, weight, type), reduction_of(reduction));
    written.finish();
    return out;
}

at::Tensor& binary_cross_entropy_backward(const at::Tensor& grad_output, const at::Tensor& self,
                                          const at::Tensor& target, const MaybeTensor& weight, int64_t reduction,
                                          at::Tensor& grad_input) {
    make_or_resize(grad_input, self.sizes(), options_like(self));
    require_same_dtype(self, grad_output);
    require_same_dtype(self, target);
    require_same_dtype(self, weight);
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(grad_input, type);
    call("diopiBCELossBackward", diopiBCELossBackward, written, Input(call, grad_output, type),
         Input(call, self, kFloating), Input(call, like_self(target, self), type), OptionalInput(call, weight, type),
         reduction_of(reduction));
    written.finish();
    return grad_input;
}

at::Tensor& mse_loss_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
                              int64_t reduction, at::Tensor& grad_input) {
    const at::Tensor expected = like_self(target, self);
    make_or_resize(grad_input, self.sizes(), options_like(self));
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(grad_input, type);
    call("diopiMSELossBackward", diopiMSELossBackward, written, Input(call, grad_output, type),
         Input(call, self, kFloating), Input(call, expected, type), reduction_of(reduction));
    written.finish();
    return grad_input;
}

void mse_loss(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& target,
              int64_t reduction) {
    Call call(out);
    const std::vector<int64_t> common = at::infer_size(self.sizes(), target.sizes());
    Output written(out, type);
    call("diopiMSELoss", diopiMSELoss, written, Input(call, expanded(self, common, call), type, kFloating),
         Input(call, expanded(target, common, call), type), reduction_of(reduction));
    written.finish();
}

void smooth_l1_loss(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& target,
                    int64_t reduction, double beta) {
    Call call(out);
    const std::vector<int64_t> common = at::infer_size(self.sizes(), target.sizes());
    Output written(out, type);
    call("diopiSmoothL1Loss", diopiSmoothL1Loss, written, Input(call, expanded(self, common, call), type, kFloating),
         Input(call, expanded(target, common, call), type), reduction_of(reduction), beta);
    written.finish();
}

at::Tensor& smooth_l1_loss_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
                                    int64_t reduction, double beta, at::Tensor& grad_input) {
    if (beta <= 0) {
        fall_back("the gradient of equal values is 0 in PyTorch");
    }
    const at::Tensor expected = like_self(target, self);
    make_or_resize(grad_input, self.sizes(), options_like(self));
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(grad_input, type);
    call("diopiSmoothL1LossBackward", diopiSmoothL1LossBackward, written, Input(call, grad_output, type),
         Input(call, self, kFloating), Input(call, expected, type), reduction_of(reduction), beta);
    written.finish();
    return grad_input;
}

at::Tensor& huber_loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction, double delta,
                       at::Tensor& out) {
    TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
    const at::Tensor expected = like_self(target, self);
    make_or_resize(out, loss_sizes(self, reduction), self.options());
    // In the wide dtype, so that the product below rounds once.
    const at::ScalarType type = at::toOpMathType(self.scalar_type());
    Call call(self);
    at::Tensor loss = at::empty(loss_sizes(self, reduction), call.options(type));
    call("diopiSmoothL1Loss", diopiSmoothL1Loss, Output(loss), Input(call, self, type, kFloating),
         Input(call, expected, type), reduction_of(reduction), delta);
    out.copy_(loss.mul_(delta));
    return out;
}

at::Tensor& huber_loss_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
                                int64_t reduction, double delta, at::Tensor& grad_input) {
    const at::Tensor expected = like_self(target, self);
    make_or_resize(grad_input, self.sizes(), options_like(self));
    const at::ScalarType type = at::toOpMathType(self.scalar_type());
    Call call(self);
    at::Tensor gradient = at::empty_like(self, self.options().dtype(type));
    call("diopiSmoothL1LossBackward", diopiSmoothL1LossBackward, Output(gradient), Input(call, grad_output, type),
         Input(call, self, type, kFloating), Input(call, expected, type), reduction_of(reduction), delta);
    grad_input.copy_(gradient.mul_(delta));
    return grad_input;
}

namespace {

at::Tensor lengths(at::IntArrayRef values) { return at::tensor(values, at::dtype(at::kLong)); }

int64_t longest(const at::Tensor& lengths) {
    const at::Tensor on_cpu = lengths.cpu().to(at::kLong);
    const int64_t* const first = on_cpu.const_data_ptr<int64_t>();
    return on_cpu.numel() == 0 ? 0 : *std::max_element(first, first + on_cpu.numel());
}

void check_sequences(const at::Tensor& log_probs, const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                     int64_t blank) {
    if (log_probs.dim() != 3) {
        fall_back("the interface takes batches");
    }
    TORCH_CHECK(log_probs.numel() > 0, "log_probs tensor must not be empty");
    TORCH_CHECK(0 <= blank && blank < log_probs.size(2), "blank must be in label range");
    TORCH_CHECK(input_lengths.numel() == log_probs.size(1), "input_lengths must be of size batch_size");
    TORCH_CHECK(target_lengths.numel() == log_probs.size(1), "target_lengths must be of size batch_size");
    TORCH_CHECK(longest(input_lengths) <= log_probs.size(0), "Expected input_lengths to have value at most ",
                log_probs.size(0));
}

// The interface rejects targets that contain the blank; PyTorch computes them.
template <typename Body>
void fall_back_for_blank(const at::Tensor& targets, int64_t blank, const Body& body) {
    try {
        body();
    } catch (const Failed&) {
        if (targets.eq(blank).any().item<bool>()) {
            fall_back("targets that contain the blank");
        }
        throw;
    }
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> ctc_loss_tensor(const at::Tensor& log_probs, const at::Tensor& targets,
                                                   const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                                                   int64_t blank, bool zero_infinity) {
    check_sequences(log_probs, input_lengths, target_lengths, blank);
    const int64_t samples = log_probs.size(1);
    at::Tensor out = at::empty({samples}, log_probs.options());
    at::Tensor likelihood = at::empty({samples}, log_probs.options());
    at::Tensor alpha = at::empty({samples, log_probs.size(0), 2 * longest(target_lengths) + 1}, log_probs.options());
    fall_back_for_blank(targets, blank, [&] {
        Call call(log_probs);
        call("diopiCTCLoss", diopiCTCLoss, Output(out), Output(likelihood), Output(alpha),
             Input(call, log_probs, kFloat32 | kFloat64), Input(call, targets, kIndex),
             Input(call, input_lengths.to(log_probs.device())), Input(call, target_lengths.to(log_probs.device())),
             blank, ReductionNone, zero_infinity);
    });
    return {std::move(likelihood), std::move(alpha)};
}

std::tuple<at::Tensor, at::Tensor> ctc_loss(const at::Tensor& log_probs, const at::Tensor& targets,
                                            at::IntArrayRef input_lengths, at::IntArrayRef target_lengths,
                                            int64_t blank, bool zero_infinity) {
    return ctc_loss_tensor(log_probs, targets, lengths(input_lengths), lengths(target_lengths), blank, zero_infinity);
}

at::Tensor ctc_loss_backward_tensor(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                                    const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                                    const at::Tensor& neg_log_likelihood, const at::Tensor& log_alpha, int64_t blank,
                                    bool zero_infinity) {
    if (log_probs.dim() != 3) {
        fall_back("the interface takes batches");
    }
    at::Tensor grad_input = at::empty_like(log_probs, at::MemoryFormat::Contiguous);
    fall_back_for_blank(targets, blank, [&] {
        Call call(log_probs);
        call("diopiCTCLossBackward", diopiCTCLossBackward, Output(grad_input),
             Input(call, grad, log_probs.scalar_type()), Input(call, log_probs, kFloat32 | kFloat64),
             Input(call, targets, kIndex), Input(call, input_lengths.to(log_probs.device())),
             Input(call, target_lengths.to(log_probs.device())), Input(call, neg_log_likelihood),
             Input(call, log_alpha), blank, ReductionNone, zero_infinity);
    });
    return grad_input;
}

at::Tensor ctc_loss_backward(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                             at::IntArrayRef input_lengths, at::IntArrayRef target_lengths,
                             const at::Tensor& neg_log_likelihood, const at::Tensor& log_alpha, int64_t blank,
                             bool zero_infinity) {
    return ctc_loss_backward_tensor(grad, log_probs, targets, lengths(input_lengths), lengths(target_lengths),
                                    neg_log_likelihood, log_alpha, blank, zero_infinity);
}

}  // namespace diopigen::backend::kernels
