// Activations that PyTorch has no meta function for.
#include <diopigen_torch/call.h>
#include <diopigen_torch/iterate.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

void runRelu(at::Tensor& out, const at::Tensor& self) {
    TORCH_CHECK(self.scalar_type() != at::kBool, "Boolean inputs not supported for relu");
    Call call(self);
    call("diopiRelu", diopiRelu, Output(out), Input(call, self));
}

}  // namespace

at::Tensor relu(const at::Tensor& self) {
    at::Tensor out = iterate({}, {&self}).output();
    runRelu(out, self);
    return out;
}

at::Tensor& reluInplace(at::Tensor& self) {
    runRelu(self, self);
    return self;
}

}  // namespace diopigen::backend::kernels
