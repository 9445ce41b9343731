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

void Elementwise::read(const Number& number) { inputs_.add({nullptr, number, compute_}); }

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
    inputs_.add({tensor.is_null() ? nullptr : &tensor, Number(), dtype});
}

void Elementwise::add_constant(const Number& number) { constants_.add(number); }

void Elementwise::write(const Tensor& tensor, Result result) {
    outputs_.add({&tensor, result_dtype(result, compute_)});
}

const Tensor& Elementwise::shape_source() const {
    for (int k = 0; k < outputs_.size(); ++k) {
        if (!outputs_[k].tensor->is_null()) {
            return *outputs_[k].tensor;
        }
    }
    return *outputs_[0].tensor;
}

void Elementwise::require_outputs_apart() const {
    for (int k = 1; k < outputs_.size(); ++k) {
        for (int i = 0; i < k; ++i) {
            require_disjoint(*outputs_[k].tensor, *outputs_[i].tensor);
        }
    }
}

}  // namespace diopigen::core
