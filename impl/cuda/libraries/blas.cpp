// Matrices are row-major here and column-major to cuBLASLt, to which each is therefore its transpose: it is asked for
// out^T = b^T a^T.
#include "diopi_cuda/blas.h"

#include <cublasLt.h>

#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "diopi_cpu/words.h"
#include "diopi_cuda/runtime.h"

namespace diopi::cuda {

namespace {

constexpr uint64_t kMostWorkspace = 32 << 20;

void check_blas(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fail(std::string(what) + ": " + cublasLtGetStatusString(status));
    }
}

// The handle of the current device. It lives as long as the process: a library may be unloaded after CUDA itself.
cublasLtHandle_t handle() {
    static std::mutex mutex;
    static std::map<int, cublasLtHandle_t> handles;
    int device = 0;
    check(cudaGetDevice(&device), "ask for the device");
    const std::lock_guard<std::mutex> lock(mutex);
    cublasLtHandle_t& own = handles[device];
    if (own == nullptr) {
        check_blas(cublasLtCreate(&own), "open cuBLASLt");
    }
    return own;
}

// Dtypes of a product, and its factors as cuBLASLt takes them.
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

// A batch of matrices: rows or, where `is_transposed`, columns lie in a piece, `step` elements apart.
struct Placed {
    const void* data = nullptr;
    bool is_transposed = false;
    int64_t step = 0;
    int64_t batch_step = 0;
    std::unique_ptr<Words> copy;

    // Whether the tensor lies so already.
    bool take(const Tensor& tensor) {
        const int64_t rows = tensor.shape[1];
        const int64_t columns = tensor.shape[2];
        const int64_t row = tensor.strides[1];
        const int64_t column = tensor.strides[2];
        batch_step = tensor.shape[0] == 1 ? 0 : tensor.strides[0];
        data = tensor.data;
        if (batch_step < 0) {
            return false;
        }
        if ((columns == 1 || column == 1) && (rows == 1 || row >= columns)) {
            is_transposed = false;
            step = rows == 1 ? columns : row;
            return true;
        }
        if ((rows == 1 || row == 1) && (columns == 1 || column >= rows)) {
            is_transposed = true;
            step = columns == 1 ? rows : column;
            return true;
        }
        return false;
    }
    // A copy where it does not. The tensor must outlive this.
    void take_or_copy(const Tensor& tensor) {
        if (take(tensor)) {
            return;
        }
        copy = std::make_unique<Words>(tensor);
        data = copy->as<char>();
        is_transposed = false;
        step = tensor.shape[2];
        batch_step = tensor.shape[0] == 1 ? 0 : tensor.shape[1] * tensor.shape[2];
    }
};

// The largest power of two up to 256 that an address and what lies between matrices are multiples of.
uint32_t alignment_of(const Placed& placed, int64_t element) {
    const uint64_t bits = reinterpret_cast<uintptr_t>(placed.data) | static_cast<uint64_t>(placed.batch_step * element);
    uint32_t alignment = 256;
    while (alignment > 1 && bits % alignment != 0) {
        alignment /= 2;
    }
    return alignment;
}

// What cuBLASLt makes and takes back.
template <typename Object, cublasStatus_t (*destroy)(Object)>
struct Owned {
    Object object = nullptr;
    Owned() = default;
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        if (object != nullptr) {
            destroy(object);
        }
    }
};
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

struct Layout : Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> {
    // `rows` and `columns` are those of the matrix as this library sees it.
    Layout(const Placed& placed, cudaDataType_t type, int64_t rows, int64_t columns, int64_t count) {
        const auto down = static_cast<uint64_t>(placed.is_transposed ? rows : columns);
        const auto across = static_cast<uint64_t>(placed.is_transposed ? columns : rows);
        check_blas(cublasLtMatrixLayoutCreate(&object, type, down, across, placed.step), "describe a matrix");
        const auto matrices = static_cast<int32_t>(count);
        set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrices);
        set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, placed.batch_step);
    }

  private:
    template <typename Value>
    void set(cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
        check_blas(cublasLtMatrixLayoutSetAttribute(object, attribute, &value, sizeof value), "describe a matrix");
    }
};

void transpose(const Description& description, cublasLtMatmulDescAttributes_t which, bool is_transposed) {
    const cublasOperation_t operation = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(cublasLtMatmulDescSetAttribute(description.object, which, &operation, sizeof operation),
               "describe a product");
}

template <typename Value>
void prefer(const Preference& preference, cublasLtMatmulPreferenceAttributes_t which, Value value) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(preference.object, which, &value, sizeof value), "choose a kernel");
}

}  // namespace

bool multiply_by_blas(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                      const Tensor& added) {
    const std::optional<Types> types = types_of(out.dtype);
    const int64_t count = out.shape[0];
    const int64_t rows = a.shape[1];
    const int64_t inner = a.shape[2];
    const int64_t columns = b.shape[2];
    Placed target;
    if (!types || a.dtype != out.dtype || b.dtype != out.dtype || inner == 0 || count > INT_MAX || !target.take(out) ||
        target.is_transposed) {
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

    Description description;
    check_blas(cublasLtMatmulDescCreate(&description.object, types->compute, types->scale), "describe a product");
    transpose(description, CUBLASLT_MATMUL_DESC_TRANSA, right.is_transposed);
    transpose(description, CUBLASLT_MATMUL_DESC_TRANSB, left.is_transposed);
    const Layout first(right, types->stored, inner, columns, count);
    const Layout second(left, types->stored, rows, inner, count);
    const Layout result(target, types->stored, rows, columns, count);

    Preference preference;
    check_blas(cublasLtMatmulPreferenceCreate(&preference.object), "choose a kernel");
    const int64_t element = size_of(out.dtype);
    prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(right, element));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(left, element));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(target, element));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(target, element));
    cublasLtMatmulHeuristicResult_t chosen{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle(), description.object, first.object, second.object, result.object,
                                       result.object, preference.object, 1, &chosen, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
        return false;
    }
    check_blas(status, "choose a kernel");

    // What is added stands where the product comes to stand.
    if (adds && added.data != out.data) {
        copy_elements(out, added);
    }
    Buffer workspace;
    workspace.allocate(static_cast<int64_t>(chosen.workspaceSize));
    const Factor times(alpha, types->scale);
    const Factor share(adds ? beta : Number::of(0), types->scale);
    check_blas(cublasLtMatmul(handle(), description.object, times.bytes, right.data, first.object, left.data,
                              second.object, share.bytes, out.data, result.object, out.data, result.object,
                              &chosen.algo, workspace.data(), chosen.workspaceSize, stream()),
               "multiply");
    return true;
}

}  // namespace diopi::cuda
