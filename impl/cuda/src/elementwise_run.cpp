// How a call of an elementwise operator becomes a launch.
#include <cstring>
#include <string>

#include "diopi_cpu/dense.h"
#include "diopi_cuda/elementwise.h"

namespace diopi::cuda {

namespace {

int64_t width_of(Dtype stored) {
    const int64_t size = size_of(stored);
    return size <= 4 ? 4 : size == 8 ? 2 : 1;
}

// Whether an operand can be read or written by vectors of `width` elements of `stored`.
bool suits_vectors(const Operand& operand, Dtype stored, int64_t width, bool is_single) {
    if (operand.dtype != stored) {
        return false;
    }
    const int64_t alignment = (is_single ? 1 : width) * operand.element;
    return (is_single || operand.is_linear) && reinterpret_cast<uintptr_t>(operand.data) % alignment == 0;
}

}  // namespace

// Beside a result of halves, what is stored in another type becomes a half all the same.
Dtype KernelCall::half_of(const Tensor& tensor, Dtype computed, bool is_rounded) const {
    const bool applies = !tensor.is_null() && is_half(promoted_) && computed == Dtype::kFloat32 && is_rounded;
    return applies ? promoted_ : Dtype::kUnsupported;
}

void KernelCall::prepare(ElementwiseJob& job, const Tensor& result) const {
    const Tensor* tensors[kMaxInputs + kMaxOutputs] = {};
    Operand operands[kMaxInputs + kMaxOutputs];
    int at[kMaxInputs + kMaxOutputs];
    int count = 0;
    for (int k = 0; k < input_count_; ++k) {
        const Tensor* tensor = inputs_[k].tensor;
        job.is_number[k] = tensor == nullptr;
        job.is_single[k] = tensor != nullptr && tensor->numel == 1 && result.numel != 1;
        job.numbers[k] = inputs_[k].number;
        job.rounded[k] = Dtype::kUnsupported;
        if (tensor != nullptr) {
            job.rounded[k] = half_of(*tensor, inputs_[k].dtype, is_integral(tensor->dtype));
            tensors[count] = tensor;
            at[count++] = k;
        }
    }
    for (int k = 0; k < output_count_; ++k) {
        const Tensor& tensor = *outputs_[k].tensor;
        const int place = input_count_ + k;
        job.is_dropped[k] = tensor.is_null();
        job.rounded[place] = half_of(tensor, outputs_[k].dtype, tensor.dtype != promoted_);
        if (!tensor.is_null()) {
            require_on_device(tensor);
            tensors[count] = &tensor;
            at[count++] = place;
        }
    }
    job.dims = walk(result, tensors, operands, count);
    for (int i = 0; i < count; ++i) {
        job.operands[at[i]] = operands[i];
    }
    for (int k = 0; k < constant_count_; ++k) {
        job.constants[k] = constants_[k];
    }
    if (indexed_) {
        if (result.rank > kMaxDims) {
            fail(std::string("parameter '") + result.name + "' has too many dimensions");
        }
        job.result.rank = static_cast<int>(result.rank);
        std::memcpy(job.result.sizes, result.shape, static_cast<size_t>(result.rank) * sizeof(int64_t));
    }
}

void KernelCall::run(const Launches& launches) const {
    const Tensor& result = shape_source();
    const Launch general = compute_ == Dtype::kUnsupported ? nullptr : launches.general[static_cast<int>(compute_)];
    if (general == nullptr) {
        fail(std::string("operands of dtype ") + name_of(promoted_) + " together are not supported",
             diopiDtypeNotSupported);
    }
    if (result.is_null() || result.numel == 0) {
        return;
    }
    ElementwiseJob job;
    prepare(job, result);
    // Single elements may lie on the host.
    Buffer sent[kMaxInputs];
    for (int k = 0; k < input_count_; ++k) {
        const Tensor* tensor = inputs_[k].tensor;
        if (tensor != nullptr && tensor->device == diopi_host) {
            require(tensor->numel == 1, "an operand lies on the host");
            sent[k].allocate(size_of(tensor->dtype));
            send(sent[k].data(), tensor->data, static_cast<size_t>(size_of(tensor->dtype)));
            job.operands[k].data = static_cast<char*>(sent[k].data());
        }
    }
    // The dtype that operands of the compute type are stored in, where it is one for all.
    Dtype stored = Dtype::kUnsupported;
    for (int k = 0; k < input_count_ + output_count_; ++k) {
        const bool is_input = k < input_count_;
        const bool has_tensor = is_input ? !job.is_number[k] : !job.is_dropped[k - input_count_];
        const Dtype computed = is_input ? inputs_[k].dtype : outputs_[k - input_count_].dtype;
        if (has_tensor && computed == compute_ && stored == Dtype::kUnsupported) {
            stored = job.operands[k].dtype;
        }
    }
    const bool is_half_way = compute_ == Dtype::kFloat32 && is_half(stored);
    bool suits = stored == compute_ || is_half_way;
    for (int k = 0; suits && k < input_count_ + output_count_; ++k) {
        const bool is_input = k < input_count_;
        if (is_input ? job.is_number[k] : job.is_dropped[k - input_count_]) {
            continue;
        }
        const Dtype computed = is_input ? inputs_[k].dtype : outputs_[k - input_count_].dtype;
        const Dtype wanted = is_half_way && computed == Dtype::kFloat32 ? stored : computed;
        suits = job.rounded[k] == Dtype::kUnsupported &&
                suits_vectors(job.operands[k], wanted, width_of(stored), is_input && job.is_single[k]);
    }
    const Launch vectors =
        is_half_way ? launches.halves[stored == Dtype::kFloat16 ? 0 : 1] : launches.vectors[static_cast<int>(compute_)];
    (suits ? vectors : general)(job, result.numel);
}

}  // namespace diopi::cuda
