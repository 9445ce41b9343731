// What an operator sees of its arguments, checked on the way in. Every check throws an Error that names the parameter.
#ifndef DIOPI_CORE_TENSOR_H_
#define DIOPI_CORE_TENSOR_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "diopi_core/cast.h"
#include "diopi_core/dtype.h"
#include "diopi_core/error.h"

namespace diopigen::core {

// The largest number of dimensions, as in the host runtime.
constexpr int kMaxRank = 64;

// A view of a tensor; sizes and strides (in elements) belong to the handle. A null handle gives a view without data
// whose `is_null` holds.
struct Tensor {
    const char* name = "";
    diopiTensorHandle_t handle = nullptr;
    void* data = nullptr;
    const int64_t* shape = nullptr;
    const int64_t* strides = nullptr;
    int64_t rank = 0;
    int64_t numel = 0;
    Dtype dtype = Dtype::kUnsupported;
    diopiDevice_t device = diopi_host;

    bool is_null() const { return handle == nullptr; }

    // The elements as T, which must be the tensor's dtype.
    template <typename T>
    T* elements() const {
        return static_cast<T*>(data);
    }
};

// A view of a handle that must not be null, with a dtype of `allowed` (else diopiDtypeNotSupported).
Tensor tensor(const char* name, diopiConstTensorHandle_t handle, DtypeSet allowed);
// A tensor that the operator allocated through diopiRequireTensor; contiguous, on the device of `like`.
Tensor new_tensor(diopiContextHandle_t ctx, const char* name, const std::vector<int64_t>& shape, Dtype dtype,
                  const Tensor& like);

// A scalar argument: a double or an int64.
struct Number {
    bool is_real = false;
    Dtype dtype = Dtype::kInt64;
    double real = 0;
    int64_t integer = 0;

    static Number of(double value) { return {true, Dtype::kFloat64, value, 0}; }
    static Number of(float value) { return of(static_cast<double>(value)); }
    static Number of(int64_t value) { return {false, Dtype::kInt64, 0, value}; }
    static Number of(int value) { return of(static_cast<int64_t>(value)); }
    static Number of(bool value) { return {false, Dtype::kBool, 0, value}; }

    template <typename T>
    T as() const {
        return is_real ? cast<T>(real) : cast<T>(Int64(integer));
    }
    double value() const { return is_real ? real : static_cast<double>(integer); }
    bool is_integral() const;
};

// ---- Checks ----

void require_same_dtype(const Tensor& tensor, const Tensor& like);
void require_dtype(const Tensor& tensor, Dtype dtype);
void require_same_shape(const Tensor& tensor, const Tensor& like);
void require_shape(const Tensor& tensor, std::initializer_list<int64_t> shape);
void require_shape(const Tensor& tensor, const std::vector<int64_t>& shape);
void require_shape(const Tensor& tensor, diopiSize_t shape);
void require_rank(const Tensor& tensor, int64_t least, int64_t most = kMaxRank);
// The tensor's shape must be what the operands (null ones left out) broadcast to together.
void require_broadcast(const Tensor& result, std::initializer_list<const Tensor*> operands);
// All on one device; a 0-d tensor may be on the host.
void require_one_device(std::initializer_list<const Tensor*> tensors);
// The tensors must share no memory, not even as the same elements.
void require_disjoint(const Tensor& written, const Tensor& other);
// `value`, which must not be null.
diopiSize_t require_sizes(const char* name, diopiSize_t value);
// A dimension in [0, rank), counted from the end where negative; 0-d tensors have one dimension, as in PyTorch.
int64_t dimension(const char* name, int64_t dim, int64_t rank);
// The same for a dimension that has been checked.
inline int64_t wrap_dim(int64_t dim, int64_t rank) { return dim < 0 ? dim + (rank == 0 ? 1 : rank) : dim; }

bool is_same_shape(const Tensor& tensor, const Tensor& like);
bool is_contiguous(const Tensor& tensor);
std::string shape_text(const int64_t* shape, int64_t rank);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_TENSOR_H_
