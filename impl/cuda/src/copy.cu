// Copies with broadcasting and casts, fills, and the look for zeros.
#include <cstring>

#include "copies.h"
#include "diopi_core/dense.h"
#include "diopi_core/elementwise.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::cuda {

namespace {

// Elements of one dtype as they are: raw bits of their size.
template <typename W>
void move_raw(const CopyJob& job) {
    if (job.is_short()) {
        copy_vectors<W, W>(job);
        return;
    }
    const Dims dims = job.dims;
    const Operand to = job.to();
    const Operand from = job.from();
    const CopyKernel<W, W> numbers(job);
    for_each(job.count, [=] DIOPI_KERNEL(int64_t i) {
        *reinterpret_cast<W*>(to.at(dims, i)) =
            from.data == nullptr ? numbers.number : *reinterpret_cast<const W*>(from.at(dims, i));
    });
}

template <typename T>
void convert(const Dims& dims, const Operand& to, const Operand& from, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        store<T>(to.at(dims, i), to.dtype, load<T>(from.at(dims, i), from.dtype));
    });
}

void look_for_zeros(const Finding& found, const Dims& dims, const Operand& operand, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (!load<Bool>(operand.at(dims, i), operand.dtype)) {
            found();
        }
    });
}

void find_zero(const Finding& found, const Tensor& tensor) {
    const Tensor* tensors[] = {&tensor};
    Operand operand;
    const Dims dims = walk(tensor, tensors, &operand, 1);
    look_for_zeros(found, dims, operand, tensor.numel);
}

bool is_zero_on_host(const Tensor& tensor) {
    const auto* bytes = static_cast<const unsigned char*>(tensor.data);
    bool is_zero = true;
    dispatch<kAny>(tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        is_zero = !static_cast<bool>(cast<Bool>(value));
    });
    return is_zero;
}

// A type that holds every value of a dtype.
template <typename Body>
void dispatch_accumulate(Dtype dtype, Body&& body) {
    if (is_complex(dtype)) {
        return body(Complex128{});
    }
    is_floating(dtype) ? body(double{}) : body(Int64{});
}

// The one element of a tensor on the host, as `dtype`.
void convert_on_host(char* number, Dtype dtype, const Tensor& from) {
    dispatch<kAny>(from.dtype, [&](auto stored) {
        std::memcpy(static_cast<void*>(&stored), from.data, sizeof(stored));
        dispatch<kAny>(dtype, [&](auto result) {
            result = cast<decltype(result)>(stored);
            std::memcpy(number, &result, sizeof(result));
        });
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void copy_elements(const Tensor& to, const Tensor& from) {
    if (to.numel == 0) {
        return;
    }
    cuda::require_on_device(to);
    const Tensor* tensors[] = {&to, &from};
    cuda::CopyJob job;
    job.count = to.numel;
    job.dims = cuda::walk(to, tensors, job.operands, 2, cuda::Order::kMemory);
    bool is_same = to.dtype == from.dtype && to.dtype != Dtype::kBool;
    if (from.device == diopi_host) {
        require(from.numel == 1, "an operand is on the host");
        cuda::convert_on_host(job.number, to.dtype, from);
        job.operands[1] = cuda::Operand();
        is_same = true;
    }
    if (!is_same) {
        if (!cuda::cast_vectors(job)) {
            cuda::dispatch_accumulate(from.dtype, [&](auto sample) {
                cuda::convert<decltype(sample)>(job.dims, job.to(), job.from(), to.numel);
            });
        }
    } else if (cuda::can_exchange(job)) {
        cuda::exchange(job);
    } else {
        dispatch_word(to.dtype, [&](auto sample) { cuda::move_raw<decltype(sample)>(job); });
    }
}

void fill(const Tensor& to, const Number& value) {
    Tensor one;
    one.numel = 1;
    one.device = diopi_host;
    one.dtype = value.is_real ? Dtype::kFloat64 : Dtype::kInt64;
    one.data = const_cast<void*>(value.is_real ? static_cast<const void*>(&value.real) : &value.integer);
    copy_elements(to, one);
}

void Elementwise::reject_zero(int k, const char* message) const {
    const Input& input = inputs_[k];
    if (shape_source().numel == 0) {
        return;  // nothing is divided
    }
    if (input.tensor == nullptr) {
        require(input.number.is_real ? input.number.real != 0 : input.number.integer != 0, message);
        return;
    }
    const Tensor& tensor = *input.tensor;
    if (tensor.numel == 0) {
        return;
    }
    if (tensor.device == diopi_host) {
        require(tensor.numel == 1, "an operand is on the host");
        require(!cuda::is_zero_on_host(tensor), message);
        return;
    }
    const cuda::Check check(message);
    cuda::find_zero(check.finding(), tensor);
    check.conclude();
}

}  // namespace diopigen::core
