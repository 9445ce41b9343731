#include <diopigen_torch/iterate.h>

namespace diopigen::backend {

at::TensorIterator iterate(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs,
                           Promotion promotion) {
    at::TensorIteratorConfig config;
    config.set_check_mem_overlap(true).allow_cpu_scalars(true).promote_inputs_to_common_dtype(true);
    if (promotion == Promotion::kBoolean) {
        if (!out.defined()) {
            config.declare_static_dtype(at::kBool);
        }
    } else {
        config.cast_common_dtype_to_outputs(true).enforce_safe_casting_to_output(true);
        config.promote_integer_inputs_to_float(promotion == Promotion::kReal);
    }
    config.add_owned_output(out);
    for (const at::Tensor* input : inputs) {
        config.add_owned_const_input(*input);
    }
    return config.build();
}

at::ScalarType shape_elementwise(at::Tensor& out, std::initializer_list<const at::Tensor*> inputs,
                                 Promotion promotion) {
    const at::TensorIterator shaped = iterate(out, inputs, promotion);
    if (!out.defined()) {
        out = shaped.output();
    }
    return shaped.common_dtype();
}

}  // namespace diopigen::backend
