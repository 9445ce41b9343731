// Products that cuBLASLt has been asked about: how it is to be told of them, and the algorithm that it chose. A product
// of the same form takes the plan that is there, and no time for choosing.
#ifndef DIOPI_CUDA_BLAS_PLANS_H_
#define DIOPI_CUDA_BLAS_PLANS_H_

#include <cublasLt.h>

#include <cstdint>
#include <memory>

namespace diopigen::cuda::blas {

constexpr uint64_t kMostWorkspace = 32 << 20;
// Plans that are cached for all devices together; those that were not used for the longest time are dropped.
constexpr size_t kMostPlans = 1024;

void check_blas(cublasStatus_t status, const char* what);

// The handle of a device. It lives as long as the process: a library may be unloaded after CUDA itself.
cublasLtHandle_t handle(int device);

// How a batch of matrices lies, in elements: rows or, where `is_transposed`, columns in a piece, `stride` apart.
struct MatrixForm {
    bool is_transposed = false;
    int64_t stride = 0;
    int64_t batch_stride = 0;
    uint32_t alignment = 1;  // bytes that addresses and distances of matrices are multiples of, a power of two
};

// Everything that the choice of an algorithm depends on. out = left right, row-major.
struct ProductForm {
    int device;
    cudaDataType_t input;   // of left and right
    cudaDataType_t result;  // of out
    cudaDataType_t scale;   // of the factors
    cublasComputeType_t compute;
    int64_t rows;
    int64_t inner;
    int64_t columns;
    int64_t count;
    MatrixForm left;
    MatrixForm right;
    MatrixForm out;
};

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
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

// Immutable, so that threads may use it concurrently. Matrices are column-major to cuBLASLt, to which each is
// therefore its transpose: it is asked for out^T = right^T left^T, so that `right` comes first.
struct Plan {
    Description description;
    Layout right;
    Layout left;
    Layout out;
    bool is_there = false;  // cuBLASLt has no algorithm else
    cublasLtMatmulHeuristicResult_t selected{};
};

std::shared_ptr<const Plan> plan_of(const ProductForm& form);

}  // namespace diopigen::cuda::blas

#endif  // DIOPI_CUDA_BLAS_PLANS_H_
