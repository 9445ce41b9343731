// The gradient of attention, from how probabilities are found again.
#ifndef DIOPI_CPU_FUNCTIONS_ATTENTION_BACKWARD_FROM_H_
#define DIOPI_CPU_FUNCTIONS_ATTENTION_BACKWARD_FROM_H_

#include "attention/flash_attention.h"
#include "tiles.h"

namespace diopigen::core::attention {

template <typename GetNormal>
void backward_from(const Problem& problem, const Scoring& scoring, const Operands& operands,
                   const GradientTensors& tensors, const GetNormal& normal) {
    const Input<float> q(operands.q);
    const Input<float> k(operands.k);
    const Input<float> v(operands.v);
    const Input<float> out(tensors.out);
    const Input<float> grad_out(tensors.grad_out);
    const Output<float> grad_q(tensors.q);
    const Output<float> grad_k(tensors.k);
    const Output<float> grad_v(tensors.v);
    std::fill_n(grad_q.data(), tensors.q.numel, 0.0f);
    std::fill_n(grad_k.data(), tensors.k.numel, 0.0f);
    std::fill_n(grad_v.data(), tensors.v.numel, 0.0f);
    backward(problem, scoring, q.data(), k.data(), v.data(), out.data(), grad_out.data(), normal,
             Gradients<float>{grad_q.data(), grad_k.data(), grad_v.data()});
    grad_q.store();
    grad_k.store();
    grad_v.store();
}

}  // namespace diopigen::core::attention

#endif  // DIOPI_CPU_FUNCTIONS_ATTENTION_BACKWARD_FROM_H_
