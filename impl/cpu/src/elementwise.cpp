#include "diopi_cpu/elementwise.h"

namespace diopi::cpu {

namespace {

Dtype result_dtype(Result result, Dtype compute) {
    switch (result) {
        case Result::kTruth:
            return Dtype::kBool;
        case Result::kRealPart:
            return to_real(compute);
        case Result::kComplexPair:
            return to_complex(compute);
        default:
            return compute;
    }
}

}  // namespace

void Elementwise::read(const Number& number) {
    Input& input = inputs_[input_count_++];
    input.tensor = nullptr;
    input.number = number;
    input.dtype = compute_;
}

void Elementwise::add_input(const Tensor& tensor, Dtype dtype) {
    Input& input = inputs_[input_count_++];
    input.tensor = tensor.is_null() ? nullptr : &tensor;
    input.number = Number();
    input.dtype = dtype;
}

void Elementwise::add_constant(const Number& number) { constants_[constant_count_++] = number; }

void Elementwise::write(const Tensor& tensor, Result result) {
    outputs_[output_count_++] = {&tensor, result_dtype(result, compute_)};
}

const Tensor& Elementwise::shape_source() const {
    for (int k = 0; k < output_count_; ++k) {
        if (!outputs_[k].tensor->is_null()) {
            return *outputs_[k].tensor;
        }
    }
    return *outputs_[0].tensor;
}

void Elementwise::check() const {
    const Tensor& result = shape_source();
    for (int k = 0; k < output_count_; ++k) {
        const Tensor& output = *outputs_[k].tensor;
        require_same_shape(output, result);
        require_one_device({&result, &output});
        require_no_overlap(output);
        for (int i = 0; i < k; ++i) {
            require_disjoint(output, *outputs_[i].tensor);
        }
        for (int i = 0; i < input_count_; ++i) {
            if (inputs_[i].tensor != nullptr) {
                require_no_overlap(output, *inputs_[i].tensor);
            }
        }
    }
    for (int i = 0; i < input_count_; ++i) {
        if (inputs_[i].tensor != nullptr) {
            require_broadcastable(*inputs_[i].tensor, result);
            require_one_device({&result, inputs_[i].tensor});
        }
    }
}

}  // namespace diopi::cpu
