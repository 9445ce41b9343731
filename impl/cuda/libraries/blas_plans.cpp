#include "blas_plans.h"

#include <array>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "diopi_cuda/runtime.h"

namespace diopigen::cuda::blas {

namespace {

using Key = std::array<int64_t, 21>;

Key key_of(const ProductForm& form) {
    Key key{form.device,
            static_cast<int64_t>(form.input),
            static_cast<int64_t>(form.result),
            static_cast<int64_t>(form.scale),
            static_cast<int64_t>(form.compute),
            form.rows,
            form.inner,
            form.columns,
            form.count};
    size_t at = 9;
    for (const MatrixForm* matrix : {&form.left, &form.right, &form.out}) {
        key[at++] = matrix->is_transposed ? 1 : 0;
        key[at++] = matrix->stride;
        key[at++] = matrix->batch_stride;
        key[at++] = matrix->alignment;
    }
    return key;
}

// `rows` and `columns` are those of the matrix as this library sees it.
void describe(Layout& layout, const MatrixForm& form, cudaDataType_t type, int64_t rows, int64_t columns,
              int64_t count) {
    const auto down = static_cast<uint64_t>(form.is_transposed ? rows : columns);
    const auto across = static_cast<uint64_t>(form.is_transposed ? columns : rows);
    check_blas(cublasLtMatrixLayoutCreate(&layout.object, type, down, across, form.stride), "describe a matrix");
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
        check_blas(cublasLtMatrixLayoutSetAttribute(layout.object, attribute, &value, sizeof value),
                   "describe a matrix");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(count));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, form.batch_stride);
}

void transpose(const Description& description, cublasLtMatmulDescAttributes_t which, bool is_transposed) {
    const cublasOperation_t operation = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(cublasLtMatmulDescSetAttribute(description.object, which, &operation, sizeof operation),
               "describe a product");
}

std::shared_ptr<const Plan> new_plan(const ProductForm& form) {
    auto plan = std::make_shared<Plan>();
    check_blas(cublasLtMatmulDescCreate(&plan->description.object, form.compute, form.scale), "describe a product");
    transpose(plan->description, CUBLASLT_MATMUL_DESC_TRANSA, form.right.is_transposed);
    transpose(plan->description, CUBLASLT_MATMUL_DESC_TRANSB, form.left.is_transposed);
    describe(plan->right, form.right, form.input, form.inner, form.columns, form.count);
    describe(plan->left, form.left, form.input, form.rows, form.inner, form.count);
    describe(plan->out, form.out, form.result, form.rows, form.columns, form.count);

    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
    check_blas(cublasLtMatmulPreferenceCreate(&preference.object), "choose a kernel");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
        check_blas(cublasLtMatmulPreferenceSetAttribute(preference.object, which, &value, sizeof value),
                   "choose a kernel");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, form.right.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, form.left.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, form.out.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, form.out.alignment);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle(form.device), plan->description.object, plan->right.object, plan->left.object, plan->out.object,
        plan->out.object, preference.object, 1, &plan->selected, &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
        check_blas(status, "choose a kernel");
    }
    plan->is_there = status == CUBLAS_STATUS_SUCCESS && found > 0;
    return plan;
}

class Plans {
  public:
    std::shared_ptr<const Plan> find(const ProductForm& form) {
        const Key key = key_of(form);
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto known = lookup_.find(key);
        if (known != lookup_.end()) {
            plans_.splice(plans_.begin(), plans_, known->second);
            return plans_.front().second;
        }
        plans_.emplace_front(key, new_plan(form));
        lookup_[key] = plans_.begin();
        if (plans_.size() > kMostPlans) {
            lookup_.erase(plans_.back().first);
            plans_.pop_back();
        }
        return plans_.front().second;
    }

  private:
    using List = std::list<std::pair<Key, std::shared_ptr<const Plan>>>;

    std::mutex mutex_;
    List plans_;  // the latest used first
    std::map<Key, List::iterator> lookup_;
};

}  // namespace

void check_blas(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fail(std::string(what) + ": " + cublasLtGetStatusString(status));
    }
}

cublasLtHandle_t handle(int device) {
    static std::mutex mutex;
    static std::map<int, cublasLtHandle_t> handles;
    const std::lock_guard<std::mutex> lock(mutex);
    cublasLtHandle_t& own = handles[device];
    if (own == nullptr) {
        check_blas(cublasLtCreate(&own), "open cuBLASLt");
    }
    return own;
}

std::shared_ptr<const Plan> plan_of(const ProductForm& form) {
    // Never destroyed: a library may be unloaded after cuBLASLt itself.
    static Plans& plans = *new Plans;
    return plans.find(form);
}

}  // namespace diopigen::cuda::blas
