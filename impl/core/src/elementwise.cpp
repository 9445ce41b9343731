#include "diopi_core/elementwise.h"

namespace diopigen::core {

namespace {

Dtype result_dtype(Result result, Dtype compute) {
    switch (result) {
        case Result::kBool:
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

void Elementwise::read_rounded(const Number& number) {
    if (promoted_ == Dtype::kFloat16) {
        read(Number::of(static_cast<float>(Half(number.as<float>()))));
    } else if (promoted_ == Dtype::kBfloat16) {
        read(Number::of(static_cast<float>(Bfloat16(number.as<float>()))));
    } else {
        read(number);
    }
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

void Elementwise::require_outputs_apart() const {
    for (int k = 1; k < output_count_; ++k) {
        for (int i = 0; i < k; ++i) {
            require_disjoint(*outputs_[k].tensor, *outputs_[i].tensor);
        }
    }
}

}  // namespace diopigen::core
