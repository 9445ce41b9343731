// Optimizers that update a list of parameters in one call, and the loss scale of mixed precision.
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sub.h>
#include <diopigen_torch/call.h>

#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// Returns whether the step is left out: the scaled gradients overflowed. Waits for the device.
bool is_skipped(const MaybeTensor& found_inf) { return is_defined(found_inf) && found_inf->item<double>() != 0; }

// Gradients come scaled, and stay unscaled, as PyTorch has it: after the step, so that one that is left to the CPU
// finds them as they were.
class Unscaled {
  public:
    Unscaled(at::TensorList gradients, const MaybeTensor& scale) : original_(gradients) {
        if (is_defined(scale)) {
            for (const at::Tensor& gradient : gradients) {
                own_.push_back(gradient.div(*scale));
            }
        }
    }
    at::TensorList gradients() const { return own_.empty() ? original_ : at::TensorList(own_); }
    void keep() const {
        for (size_t i = 0; i < own_.size(); ++i) {
            original_[i].copy_(own_[i]);
        }
    }

  private:
    at::TensorList original_;
    std::vector<at::Tensor> own_;
};

// The functions of the interface have one length for all lists.
void require_one_length(at::TensorList parameters, std::initializer_list<at::TensorList> others) {
    for (const at::TensorList& other : others) {
        TORCH_CHECK(other.size() == parameters.size(), "Expected lists of one length, but got ", parameters.size(),
                    " parameters and ", other.size(), " tensors in another list");
    }
}

struct Adam {
    double rate;
    double beta1;
    double beta2;
    double decay;
    double eps;
    bool amsgrad;
    bool maximize;
};

void run_adam(at::TensorList parameters, at::TensorList gradients, at::TensorList means, at::TensorList squares,
              at::TensorList largest, at::TensorList steps, const Adam& adam) {
    if (parameters.empty()) {
        return;
    }
    Call call(parameters[0]);
    call("diopiFusedAdamW", diopiFusedAdamW, OutputList(parameters).data(),
         InputList(call, gradients, kFloating).data(), OutputList(means).data(), OutputList(squares).data(),
         adam.amsgrad ? OutputList(largest).data() : nullptr, InputList(call, steps, kFloat32 | kInt64).data(),
         static_cast<int64_t>(parameters.size()), adam.rate, adam.beta1, adam.beta2, adam.eps, adam.decay, adam.amsgrad,
         adam.maximize);
}

// Adam is AdamW without decay; its own decay is part of the gradient.
void run_plain_adam(at::TensorList parameters, at::TensorList gradients, at::TensorList means, at::TensorList squares,
                    at::TensorList largest, at::TensorList steps, Adam adam) {
    if (adam.decay == 0) {
        run_adam(parameters, gradients, means, squares, largest, steps, adam);
        return;
    }
    std::vector<at::Tensor> decayed;
    decayed.reserve(gradients.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
        decayed.push_back(at::add(adam.maximize ? at::neg(gradients[i]) : gradients[i], parameters[i], adam.decay));
    }
    adam.decay = 0;
    adam.maximize = false;
    run_adam(parameters, decayed, means, squares, largest, steps, adam);
}

double number_of(const at::Tensor& rate) { return rate.item<double>(); }

}  // namespace

void fused_adam_inplace(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs,
                        at::TensorList max_exp_avg_sqs, at::TensorList state_steps, double lr, double beta1,
                        double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                        const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
    require_one_length(self, {grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : self, state_steps});
    if (is_skipped(found_inf)) {
        return;
    }
    const Unscaled unscaled(grads, grad_scale);
    run_plain_adam(self, unscaled.gradients(), exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                   {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize});
    unscaled.keep();
}

void fused_adam_inplace_tensor_lr(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs,
                                  at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                                  at::TensorList state_steps, const at::Tensor& lr, double beta1, double beta2,
                                  double weight_decay, double eps, bool amsgrad, bool maximize,
                                  const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
    fused_adam_inplace(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, number_of(lr), beta1, beta2,
                       weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void fused_adamw_inplace(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs, at::TensorList exp_avg_sqs,
                         at::TensorList max_exp_avg_sqs, at::TensorList state_steps, double lr, double beta1,
                         double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                         const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
    require_one_length(self, {grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : self, state_steps});
    if (is_skipped(found_inf)) {
        return;
    }
    const Unscaled unscaled(grads, grad_scale);
    run_adam(self, unscaled.gradients(), exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
             {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize});
    unscaled.keep();
}

void fused_adamw_inplace_tensor_lr(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs,
                                   at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                                   at::TensorList state_steps, const at::Tensor& lr, double beta1, double beta2,
                                   double weight_decay, double eps, bool amsgrad, bool maximize,
                                   const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
    fused_adamw_inplace(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, number_of(lr), beta1, beta2,
                        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void fused_sgd_inplace(at::TensorList self, at::TensorList grads, at::TensorList momentum_buffer_list,
                       double weight_decay, double momentum, double lr, double dampening, bool nesterov, bool maximize,
                       bool is_first_step, const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
    const bool has_velocity = momentum != 0;
    require_one_length(self, {grads, has_velocity ? momentum_buffer_list : self});
    if (is_skipped(found_inf) || self.empty()) {
        return;
    }
    const Unscaled unscaled(grads, grad_scale);
    for (size_t i = 0; i < self.size(); ++i) {
        at::Tensor parameter = self[i];
        at::Tensor gradient = unscaled.gradients()[i];
        if (maximize) {
            gradient = at::neg(gradient);
        }
        // Of a first step the interface takes the gradient for the velocity, and does not hand it out.
        at::Tensor first;
        diopiTensorHandle_t velocity = nullptr;
        if (has_velocity && is_first_step) {
            first = weight_decay == 0 ? gradient : at::add(gradient, parameter, weight_decay);
        } else if (has_velocity) {
            velocity = handle(const_cast<at::Tensor&>(momentum_buffer_list[i]));
        }
        Call call(parameter);
        const Input checked(call, gradient, kFloating);
        call("diopiSgd", diopiSgd, Output(parameter), handle(gradient), velocity, lr, momentum, dampening, weight_decay,
             nesterov);
        if (first.defined()) {
            momentum_buffer_list[i].copy_(first);
        }
    }
    unscaled.keep();
}

void fused_sgd_inplace_tensor_lr(at::TensorList self, at::TensorList grads, at::TensorList momentum_buffer_list,
                                 double weight_decay, double momentum, const at::Tensor& lr, double dampening,
                                 bool nesterov, bool maximize, bool is_first_step, const MaybeTensor& grad_scale,
                                 const MaybeTensor& found_inf) {
    fused_sgd_inplace(self, grads, momentum_buffer_list, weight_decay, momentum, number_of(lr), dampening, nesterov,
                      maximize, is_first_step, grad_scale, found_inf);
}

void fused_adagrad_inplace(at::TensorList self, at::TensorList grads, at::TensorList state_sums,
                           at::TensorList state_steps, double lr, double lr_decay, double weight_decay, double eps,
                           bool maximize, const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
    require_one_length(self, {grads, state_sums, state_steps});
    if (is_skipped(found_inf)) {
        return;
    }
    const Unscaled unscaled(grads, grad_scale);
    for (size_t i = 0; i < self.size(); ++i) {
        at::Tensor gradient = unscaled.gradients()[i];
        if (maximize) {
            gradient = at::neg(gradient);
        }
        if (weight_decay != 0) {
            gradient = at::add(gradient, self[i], weight_decay);
        }
        state_sums[i].addcmul_(gradient, gradient);
        at::Tensor divisor = state_sums[i].sqrt().add_(eps);
        if (lr_decay != 0) {  // the step stays on the device
            divisor.mul_(at::add(at::mul(at::sub(state_steps[i], 1), lr_decay), 1));
        }
        self[i].addcdiv_(gradient, divisor, -lr);
    }
    unscaled.keep();
}

void fused_adagrad_inplace_tensor_lr(at::TensorList self, at::TensorList grads, at::TensorList state_sums,
                                     at::TensorList state_steps, const at::Tensor& lr, double lr_decay,
                                     double weight_decay, double eps, bool maximize, const MaybeTensor& grad_scale,
                                     const MaybeTensor& found_inf) {
    fused_adagrad_inplace(self, grads, state_sums, state_steps, number_of(lr), lr_decay, weight_decay, eps, maximize,
                          grad_scale, found_inf);
}

void amp_foreach_non_finite_check_and_unscale_inplace(at::TensorList self, at::Tensor& found_inf,
                                                      const at::Tensor& inv_scale) {
    if (self.empty()) {
        return;
    }
    Call call(self[0]);
    OutputList gradients(self);
    call("diopiAmpForeachNonFiniteCheckAndUnscaleInp", diopiAmpForeachNonFiniteCheckAndUnscaleInp, gradients.data(),
         gradients.size(), Output(found_inf), Input(call, inv_scale, kFloat32));
}

at::Tensor& amp_update_scale_inplace(at::Tensor& self, at::Tensor& growth_tracker, const at::Tensor& found_inf,
                                     double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval) {
    Call call(self);
    call("diopiAmpUpdateScaleInp", diopiAmpUpdateScaleInp, Output(self), Output(growth_tracker),
         Input(call, found_inf, kFloat32), scale_growth_factor, scale_backoff_factor, growth_interval);
    return self;
}

}  // namespace diopigen::backend::kernels
