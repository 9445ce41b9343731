// How a call of an elementwise operator becomes a launch.
#include <cstring>
#include <string>
#include <vector>

#include "copies.h"
#include "diopi_core/dense.h"
#include "diopi_cuda/elementwise.h"
#include "diopi_cuda/kernel_list.h"

namespace diopigen::cuda {

namespace {

// From here on a second launch costs less than a line of memory for each element.
constexpr int64_t kLeastExchanged = 65536;

// An operand of which another dimension is contiguous than in the result becomes a copy in the layout of the result.
void exchange_operand(const Dims& dims, Operand& operand, int64_t count, Buffer& buffer) {
    CopyJob job;
    job.dims = dims;
    job.count = count;
    job.operands[1] = operand;
    Operand& copy = job.operands[0];
    copy.dtype = operand.dtype;
    copy.element = operand.element;
    int64_t stride = operand.element;
    for (int d = dims.rank - 1; d >= 0; --d) {
        if (operand.strides[d] == 0) {
            return;
        }
        copy.strides[d] = stride;
        stride *= dims.sizes[d];
    }
    if (!can_exchange(job)) {
        return;
    }
    buffer.allocate(stride);
    copy.data = static_cast<char*>(buffer.data());
    exchange(job);
    operand = copy;
}

}  // namespace

// With a float16 or bfloat16 result, what is stored in another type becomes a half all the same.
Dtype KernelCall::half_of(const Tensor& tensor, Dtype computed, bool is_rounded) const {
    const bool applies = !tensor.is_null() && is_half(promoted_) && computed == Dtype::kFloat32 && is_rounded;
    return applies ? promoted_ : Dtype::kUnsupported;
}

void KernelCall::prepare(ElementwiseJob& job, const Tensor& result) const {
    const Tensor* tensors[kMaxInputs + kMaxOutputs] = {};
    Operand operands[kMaxInputs + kMaxOutputs];
    int at[kMaxInputs + kMaxOutputs];
    int count = 0;
    for (int k = 0; k < inputs_.size(); ++k) {
        const Tensor* tensor = inputs_[k].tensor;
        job.numbers[k] = inputs_[k].number;
        job.rounded[k] = Dtype::kUnsupported;
        if (tensor == nullptr) {
            continue;
        }
        job.rounded[k] = half_of(*tensor, inputs_[k].dtype, is_integral(tensor->dtype));
        if (tensor->device == diopi_host) {
            require(tensor->numel == 1, "an operand is on the host");
            job.on_host[k] = tensor;
        } else {
            tensors[count] = tensor;
            at[count++] = k;
        }
    }
    for (int k = 0; k < outputs_.size(); ++k) {
        const Tensor& tensor = *outputs_[k].tensor;
        const int index = inputs_.size() + k;
        job.rounded[index] = half_of(tensor, outputs_[k].dtype, tensor.dtype != promoted_);
        if (!tensor.is_null()) {
            require_on_device(tensor);
            tensors[count] = &tensor;
            at[count++] = index;
        }
    }
    job.dims = walk(result, tensors, operands, count, indexed_ ? Order::kRows : Order::kMemory);
    for (int i = 0; i < count; ++i) {
        job.operands[at[i]] = operands[i];
    }
    for (int k = 0; k < constants_.size(); ++k) {
        job.constants[k] = constants_[k];
    }
    if (indexed_) {
        if (result.rank > kMaxDims) {
            fail(std::string("parameter '") + result.name + "' has too many dimensions");
        }
        for (int64_t d = 0; d < result.rank; ++d) {
            job.result.append(result.shape[d]);
        }
    }
}

void KernelCall::run(const Launches& launches) const { run_as(launches, nullptr); }

void KernelCall::run(const Launches& launches, KernelList& list) const { run_as(launches, &list); }

void KernelCall::run_as(const Launches& launches, KernelList* list) const {
    const Tensor& result = shape_source();
    const Launch general = compute_ == Dtype::kUnsupported ? nullptr : launches.general[static_cast<int>(compute_)];
    if (general == nullptr) {
        fail(std::string("operands of dtype ") + name_of(promoted_) + " together are not supported",
             diopiDtypeNotSupported);
    }
    require_outputs_apart();
    if (result.is_null() || result.numel == 0) {
        return;
    }
    ElementwiseJob job;
    prepare(job, result);
    if (list != nullptr) {
        std::vector<const Tensor*> read;
        std::vector<const Tensor*> written;
        for (int k = 0; k < inputs_.size(); ++k) {
            read.push_back(inputs_[k].tensor);
        }
        for (int k = 0; k < outputs_.size(); ++k) {
            written.push_back(outputs_[k].tensor);
        }
        list->reserve(read, written);
    }
    job.list = list;
    // A copy would not outlive this call, as the operands of a list do.
    Buffer exchanged[kMaxInputs];
    for (int k = 0; list == nullptr && k < inputs_.size() && result.numel >= kLeastExchanged; ++k) {
        exchange_operand(job.dims, job.operands[k], result.numel, exchanged[k]);
    }
    const Launch vectors = vectors_for(launches, job, result.numel);
    (vectors != nullptr ? vectors : general)(job, result.numel);
}

// Null where an operand is not in the type that it is computed in, or in the half that all others are in.
Launch KernelCall::vectors_for(const Launches& launches, const ElementwiseJob& job, int64_t count) const {
    if (job.dims.rank > 1 && count > kMaxShort) {
        return nullptr;
    }
    const auto computed_of = [&](int k) {
        return k < inputs_.size() ? inputs_[k].dtype : outputs_[k - inputs_.size()].dtype;
    };
    const int operands = inputs_.size() + outputs_.size();
    // The dtype that operands of the compute type are stored in.
    Dtype stored = compute_;
    for (int k = operands - 1; k >= 0; --k) {
        if (job.operands[k].data != nullptr && computed_of(k) == compute_) {
            stored = job.operands[k].dtype;
        }
    }
    const bool is_half_way = compute_ == Dtype::kFloat32 && is_half(stored);
    for (int k = 0; k < operands; ++k) {
        const Dtype required = is_half_way && computed_of(k) == Dtype::kFloat32 ? stored : computed_of(k);
        if (job.operands[k].data == nullptr) {
            continue;
        }
        if (job.operands[k].dtype != required || job.rounded[k] != Dtype::kUnsupported) {
            return nullptr;
        }
    }
    return is_half_way ? launches.halves[stored == Dtype::kFloat16 ? 0 : 1]
                       : launches.vectors[static_cast<int>(compute_)];
}

}  // namespace diopigen::cuda
