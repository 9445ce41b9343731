// Products of column-major matrices as cuBLASLt describes them, element by element. Written from its documentation:
// what it shows is that calls say what they mean, not that cuBLASLt does.
#include <cublasLt.h>
#include <diopigen/environment.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <type_traits>

#include "diopi_core/half.h"
#include "emulation/launch.h"

struct cublasLtMatmulDescOpaque {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    cublasOperation_t operations[2];  // of a and b
};
struct cublasLtMatrixLayoutOpaque {
    cudaDataType_t type;
    int64_t rows;
    int64_t columns;
    int64_t stride;  // from column to column
    int32_t count;
    int64_t batch_stride;
};
struct cublasLtMatmulPreferenceOpaque {
    uint64_t workspace;
    uint32_t alignments[4];
};

namespace {

using diopigen::core::Bfloat16;
using diopigen::core::Half;
using diopigen::cuda::emulation::submit;

// The element as the type that is added up in.
template <typename A, typename S>
A element(const void* data, const cublasLtMatrixLayoutOpaque& layout, int64_t k, int64_t row, int64_t column) {
    const int64_t at = k * layout.batch_stride + column * layout.stride + row;
    if constexpr (std::is_same_v<S, std::complex<double>>) {
        return static_cast<const S*>(data)[at];
    } else {
        return static_cast<A>(static_cast<const S*>(data)[at]);
    }
}

// Factors of S give a result of D, added up in A.
template <typename A, typename S, typename D>
void multiply(const cublasLtMatmulDescOpaque& how, A alpha, const void* a, const cublasLtMatrixLayoutOpaque& a_layout,
              const void* b, const cublasLtMatrixLayoutOpaque& b_layout, A beta, const void* c,
              const cublasLtMatrixLayoutOpaque& c_layout, void* d, const cublasLtMatrixLayoutOpaque& d_layout) {
    const diopigen::cuda::emulation::Access access;
    const bool turns_a = how.operations[0] == CUBLAS_OP_T;
    const bool turns_b = how.operations[1] == CUBLAS_OP_T;
    const int64_t inner = turns_a ? a_layout.rows : a_layout.columns;
    for (int64_t k = 0; k < d_layout.count; ++k) {
        for (int64_t column = 0; column < d_layout.columns; ++column) {
            for (int64_t row = 0; row < d_layout.rows; ++row) {
                A sum(0);
                for (int64_t i = 0; i < inner; ++i) {
                    sum += element<A, S>(a, a_layout, k, turns_a ? i : row, turns_a ? row : i) *
                           element<A, S>(b, b_layout, k, turns_b ? column : i, turns_b ? i : column);
                }
                A value = alpha * sum;
                if (beta != A(0)) {
                    value += beta * element<A, D>(c, c_layout, k, row, column);
                }
                static_cast<D*>(d)[k * d_layout.batch_stride + column * d_layout.stride + row] = D(value);
            }
        }
    }
}

template <typename A>
A number(const void* value) {
    A result;
    std::memcpy(&result, value, sizeof result);
    return result;
}

int64_t bytes_of(cudaDataType_t type) {
    switch (type) {
        case CUDA_R_16F:
        case CUDA_R_16BF:
            return 2;
        case CUDA_R_32F:
            return 4;
        case CUDA_R_64F:
            return 8;
        default:
            return 16;
    }
}

// Whether sizes, strides and types are compatible.
bool is_right(const cublasLtMatmulDescOpaque& how, const cublasLtMatrixLayoutOpaque& a,
              const cublasLtMatrixLayoutOpaque& b, const cublasLtMatrixLayoutOpaque& d) {
    const bool turns_a = how.operations[0] == CUBLAS_OP_T;
    const bool turns_b = how.operations[1] == CUBLAS_OP_T;
    bool right = (turns_a ? a.columns : a.rows) == d.rows && (turns_b ? b.rows : b.columns) == d.columns &&
                 (turns_a ? a.rows : a.columns) == (turns_b ? b.columns : b.rows) && a.count == d.count &&
                 b.count == d.count && a.type == b.type &&
                 (a.type == d.type || (bytes_of(a.type) == 2 && d.type == CUDA_R_32F));
    for (const cublasLtMatrixLayoutOpaque* layout : {&a, &b, &d}) {
        right = right && layout->rows > 0 && layout->columns > 0 && layout->stride >= layout->rows;
    }
    const bool is_double = d.type == CUDA_R_64F || d.type == CUDA_C_64F;
    const cudaDataType_t scale = is_double ? d.type : CUDA_R_32F;
    return right && how.scale == scale && how.compute == (is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F);
}

bool is_aligned(const void* data, const cublasLtMatrixLayoutOpaque& layout, uint32_t alignment) {
    return (reinterpret_cast<uintptr_t>(data) | static_cast<uint64_t>(layout.batch_stride * bytes_of(layout.type))) %
               alignment ==
           0;
}

// A line for each call that has work to do, in the file that DIOPI_CUDA_EMULATION_BLAS_LOG names: what it was, the
// bytes of an element of the factors and of the result, and the result's columns and rows.
void note(const char* call, const cublasLtMatrixLayoutOpaque& a, const cublasLtMatrixLayoutOpaque& d) {
    const char* file = std::getenv("DIOPI_CUDA_EMULATION_BLAS_LOG");
    if (file != nullptr) {
        std::ofstream(file, std::ios::app)
            << call << ' ' << bytes_of(a.type) << ' ' << bytes_of(d.type) << ' ' << d.columns << ' ' << d.rows << '\n';
    }
}

template <typename Object>
cublasStatus_t destroy(Object* object) {
    delete object;
    return CUBLAS_STATUS_SUCCESS;
}

template <typename Value>
cublasStatus_t set(Value& to, const void* value, size_t bytes) {
    if (bytes != sizeof(Value)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    std::memcpy(&to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS         ? "success"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported"
                                                   : "invalid value";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    static char context;
    *handle = reinterpret_cast<cublasLtHandle_t>(&context);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    *description = new cublasLtMatmulDescOpaque{compute, scale, {CUBLAS_OP_N, CUBLAS_OP_N}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) { return destroy(description); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
    return set(description->operations[which == CUBLASLT_MATMUL_DESC_TRANSA ? 0 : 1], value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
    *layout =
        new cublasLtMatrixLayoutOpaque{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride, 1, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
    return which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? set(layout->count, value, bytes)
                                                       : set(layout->batch_stride, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = new cublasLtMatmulPreferenceOpaque{0, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    size_t bytes) {
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
        return set(preference->workspace, value, bytes);
    }
    return set(preference->alignments[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int /*wanted*/,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
    *found = 0;
    if (diopigen::environment::checked("DIOPI_CUDA_EMULATION_BLAS").empty()) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (!is_right(*description, *a, *b, *d)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    note("choose", *a, *d);
    std::copy(std::begin(preference->alignments), std::end(preference->alignments), results->algo.alignments);
    results->workspaceSize = std::min<uint64_t>(preference->workspace, 4096);
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
    const bool rejects = diopigen::environment::checked("DIOPI_CUDA_EMULATION_BLAS") == "refuse";
    if (rejects || !is_right(*description, *a_layout, *b_layout, *d_layout) ||
        (workspace == nullptr && workspace_bytes > 0) || !is_aligned(a, *a_layout, algo->alignments[0]) ||
        !is_aligned(b, *b_layout, algo->alignments[1]) || !is_aligned(c, *c_layout, algo->alignments[2]) ||
        !is_aligned(d, *d_layout, algo->alignments[3])) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const auto run = [&](auto sum, auto stored, auto written) {
        using A = decltype(sum);
        using S = decltype(stored);
        using D = decltype(written);
        const A times = number<A>(alpha);
        const A beta_value = number<A>(beta);
        submit(stream,
               [=, how = *description, a_own = *a_layout, b_own = *b_layout, c_own = *c_layout, d_own = *d_layout] {
                   multiply<A, S, D>(how, times, a, a_own, b, b_own, beta_value, c, c_own, d, d_own);
               });
    };
    const bool widens = d_layout->type != a_layout->type;
    switch (a_layout->type) {
        case CUDA_R_16F:
            widens ? run(float{}, Half{}, float{}) : run(float{}, Half{}, Half{});
            break;
        case CUDA_R_16BF:
            widens ? run(float{}, Bfloat16{}, float{}) : run(float{}, Bfloat16{}, Bfloat16{});
            break;
        case CUDA_R_32F:
            run(float{}, float{}, float{});
            break;
        case CUDA_R_64F:
            run(double{}, double{}, double{});
            break;
        default:
            run(std::complex<double>{}, std::complex<double>{}, std::complex<double>{});
            break;
    }
    note("multiply", *a_layout, *d_layout);
    return CUBLAS_STATUS_SUCCESS;
}
