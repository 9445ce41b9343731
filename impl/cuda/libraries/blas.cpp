// How tensors become a product of cuBLASLt: layouts that it takes, and copies of those that it does not.
#include "diopi_cuda/blas.h"

#include <climits>
#include <memory>
#include <optional>

#include "blas_plans.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

namespace {

// Dtypes of a product, and its factors, as cuBLASLt takes them.
struct Types {
    cudaDataType_t stored;
    cudaDataType_t scale;
    cublasComputeType_t compute;
};

std::optional<Types> types_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::kFloat16:
            return Types{CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
        case Dtype::kBfloat16:
            return Types{CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
        case Dtype::kFloat32:
            return Types{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
        case Dtype::kFloat64:
            return Types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
        case Dtype::kComplex128:
            return Types{CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
        default:
            return std::nullopt;  // complex64 is added up in complex128, integers are not cuBLASLt's
    }
}

// Halves may give floats.
bool go_together(Dtype input, Dtype result) {
    return input == result || (result == Dtype::kFloat32 && (input == Dtype::kFloat16 || input == Dtype::kBfloat16));
}

struct Factor {
    alignas(16) char bytes[16];

    Factor(const Number& number, cudaDataType_t type) {
        if (type == CUDA_R_32F) {
            *reinterpret_cast<float*>(bytes) = number.as<float>();
        } else if (type == CUDA_R_64F) {
            *reinterpret_cast<double*>(bytes) = number.as<double>();
        } else {
            *reinterpret_cast<Complex128*>(bytes) = number.as<Complex128>();
        }
    }
};

// A batch of matrices that is laid out as cuBLASLt takes it.
struct Placed {
    const void* data = nullptr;
    blas::MatrixForm form;
    std::unique_ptr<RawInput> copy;

    // Whether the tensor is laid out so already.
    bool take(const Tensor& tensor) {
        const int64_t rows = tensor.shape[1];
        const int64_t columns = tensor.shape[2];
        const int64_t row = tensor.strides[1];
        const int64_t column = tensor.strides[2];
        form.batch_stride = tensor.shape[0] == 1 ? 0 : tensor.strides[0];
        data = tensor.data;
        if (form.batch_stride < 0) {
            return false;
        }
        if ((columns == 1 || column == 1) && (rows == 1 || row >= columns)) {
            form.is_transposed = false;
            form.stride = rows == 1 ? columns : row;
            return true;
        }
        if ((rows == 1 || row == 1) && (columns == 1 || column >= rows)) {
            form.is_transposed = true;
            form.stride = columns == 1 ? rows : column;
            return true;
        }
        return false;
    }
    // A copy where it does not. The tensor must outlive this.
    void take_or_copy(const Tensor& tensor) {
        if (take(tensor)) {
            return;
        }
        copy = std::make_unique<RawInput>(tensor);
        data = copy->as<char>();
        form.is_transposed = false;
        form.stride = tensor.shape[2];
        form.batch_stride = tensor.shape[0] == 1 ? 0 : tensor.shape[1] * tensor.shape[2];
    }
};

// The largest power of two up to 256 that an address and what is between matrices are multiples of.
uint32_t alignment_of(const Placed& placed, int64_t element) {
    const uint64_t bits =
        reinterpret_cast<uintptr_t>(placed.data) | static_cast<uint64_t>(placed.form.batch_stride * element);
    uint32_t alignment = 256;
    while (alignment > 1 && bits % alignment != 0) {
        alignment /= 2;
    }
    return alignment;
}

}  // namespace

bool multiply_by_blas(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                      const Tensor& added) {
    const std::optional<Types> input = types_of(a.dtype);
    const std::optional<Types> result = types_of(out.dtype);
    const int64_t count = out.shape[0];
    const int64_t inner = a.shape[2];
    Placed target;
    if (!input || !result || b.dtype != a.dtype || !go_together(a.dtype, out.dtype) || inner == 0 || count > INT_MAX ||
        !target.take(out) || target.form.is_transposed) {
        return false;
    }
    const bool adds = !added.is_null() && beta.value() != 0;
    if (adds && added.dtype != out.dtype) {
        return false;
    }
    Placed left;
    Placed right;
    left.take_or_copy(a);
    right.take_or_copy(b);
    left.form.alignment = alignment_of(left, size_of(a.dtype));
    right.form.alignment = alignment_of(right, size_of(b.dtype));
    target.form.alignment = alignment_of(target, size_of(out.dtype));

    int device = 0;
    check(cudaGetDevice(&device), "ask for the device");
    const std::shared_ptr<const blas::Plan> plan =
        blas::plan_of({device, input->stored, result->stored, result->scale, result->compute, a.shape[1], inner,
                       b.shape[2], count, left.form, right.form, target.form});
    if (!plan->is_there) {
        return false;
    }
    // What is added is where the product is written.
    if (adds && added.data != out.data) {
        copy_elements(out, added);
    }
    Buffer workspace;
    const size_t bytes = plan->selected.workspaceSize;
    if (bytes > 0) {
        workspace.allocate(static_cast<int64_t>(bytes));
    }
    const Factor times(alpha, result->scale);
    const Factor beta_factor(adds ? beta : Number::of(0), result->scale);
    blas::check_blas(
        cublasLtMatmul(blas::handle(device), plan->description.object, times.bytes, right.data, plan->right.object,
                       left.data, plan->left.object, beta_factor.bytes, out.data, plan->out.object, out.data,
                       plan->out.object, &plan->selected.algo, workspace.data(), bytes, stream()),
        "multiply");
    return true;
}

}  // namespace diopigen::cuda
