// Dropout with its mask.
#include <ATen/ops/empty_like.h>
#include <diopigen_torch/call.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
    at::Tensor out = at::empty_like(input);
    at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
    if (!train.value_or(true)) {
        out.copy_(input);
        mask.fill_(true);
        return {out, mask};
    }
    Call call(input);
    call("diopiDropout", diopiDropout, Output(out), Output(mask), Input(call, input, kFloating), p, true,
         call.generator({}));
    return {out, mask};
}

at::Tensor native_dropout_backward(const at::Tensor& grad_output, const at::Tensor& mask, double scale) {
    return grad_output.mul(mask.to(grad_output.scalar_type()).mul(scale));
}

}  // namespace diopigen::backend::kernels
