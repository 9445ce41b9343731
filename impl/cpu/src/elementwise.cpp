#include "diopi_cpu/elementwise.h"

#include <cstring>
#include <vector>

#include "diopi_cpu/strided.h"

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

void Elementwise::refuse_zero(int k, const char* message) const {
    const Input& input = inputs_[k];
    if (input.tensor == nullptr) {
        require(input.number.is_real ? input.number.real != 0 : input.number.integer != 0, message);
        return;
    }
    const Tensor& tensor = *input.tensor;
    if (tensor.numel == 0) {
        return;
    }
    const Strided operand = strided(tensor, logical_order(tensor.shape, tensor.rank), tensor.rank);
    std::vector<char> gathered(static_cast<size_t>(kBlock * operand.element));
    std::vector<char> truths(static_cast<size_t>(kBlock));
    for (int64_t start = 0; start < tensor.numel; start += kBlock) {
        const int64_t count = tensor.numel - start < kBlock ? tensor.numel - start : kBlock;
        operand.gather(start, count, gathered.data());
        convert(tensor.dtype, gathered.data(), Dtype::kBool, truths.data(), count);
        require(std::memchr(truths.data(), 0, static_cast<size_t>(count)) == nullptr, message);
    }
}

}  // namespace diopi::cpu
