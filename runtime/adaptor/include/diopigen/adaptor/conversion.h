// One tensor on its way into an operator: what it is, what it has to become, and the copies between the two.
#ifndef DIOPIGEN_ADAPTOR_CONVERSION_H_
#define DIOPIGEN_ADAPTOR_CONVERSION_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "error.h"
#include "geometry.h"
#include "host_services.h"
#include "narrowing.h"
#include "rule.h"

namespace diopigen {
namespace adaptor {
namespace {

// A tensor of the caller. Size and stride are lists that live as long as it does.
struct Tensor {
    diopiConstTensorHandle_t handle;
    const void* data;
    diopiDtype_t dtype;
    diopiSize_t size;
    diopiSize_t stride;
};

// What the operator gets instead.
struct Target {
    diopiDtype_t dtype;
    Strides stride;
};

// Where a failure happens: the text of the error says so.
struct Site {
    const Helpers& helpers;
    diopiContextHandle_t ctx;
    const char* function;
    const char* parameter;
};

inline diopiError_t failed_at(const Site& at, const char* callee, diopiError_t status) {
    const char* const more = at.helpers.lastError == nullptr ? nullptr : at.helpers.lastError();
    const bool has_more = more != nullptr && more[0] != '\0';
    return fail(at.helpers, status, "%s, parameter '%s': %s failed with status %d%s%s", at.function, at.parameter,
                callee, static_cast<int>(status), has_more ? ": " : "", has_more ? more : "");
}

inline diopiError_t lacks_helper(const Site& at, const char* helper) {
    return fail(at.helpers, diopiNoImplement, "%s, parameter '%s': the conversion needs %s, which the vendor lacks",
                at.function, at.parameter, helper);
}

#define DIOPIGEN_ADAPTOR_TRY(expression)                   \
    do {                                                   \
        const diopiError_t tried_ = (expression);          \
        if (__builtin_expect(tried_ != diopiSuccess, 0)) { \
            return tried_;                                 \
        }                                                  \
    } while (false)

// A call of the host or of a helper whose status has to be good.
#define DIOPIGEN_ADAPTOR_CALL(at, name, expression)         \
    do {                                                    \
        const diopiError_t called_ = (expression);          \
        if (__builtin_expect(called_ != diopiSuccess, 0)) { \
            return failed_at(at, name, called_);            \
        }                                                   \
    } while (false)

inline diopiError_t require_tensor(const Site& at, const diopiSize_t& size, const Strides& stride, diopiDtype_t dtype,
                                   diopiTensorHandle_t& created) {
    const diopiSize_t strides = stride.as_size();
    diopiTensorHandle_t tensor = nullptr;
    DIOPIGEN_ADAPTOR_CALL(at, "diopiRequireTensor",
                          diopiRequireTensor(at.ctx, &tensor, &size, &strides, dtype, diopi_device));
    if (tensor == nullptr) {
        return fail(at.helpers, diopiErrorOccurred, "%s, parameter '%s': diopiRequireTensor gave no tensor",
                    at.function, at.parameter);
    }
    created = tensor;
    return diopiSuccess;
}

// Temporaries of a context that the host cannot free one by one live as long as the context.
inline diopiError_t release(const Site& at, diopiTensorHandle_t temporary) {
    if (diopiHostReleaseTemporary != nullptr) {
        DIOPIGEN_ADAPTOR_CALL(at, "diopiHostReleaseTemporary", diopiHostReleaseTemporary(at.ctx, temporary));
    }
    return diopiSuccess;
}

// For ways out of a failure, which has a status and a text already.
inline void release_quietly(diopiContextHandle_t ctx, diopiTensorHandle_t temporary) {
    if (temporary != nullptr && diopiHostReleaseTemporary != nullptr) {
        static_cast<void>(diopiHostReleaseTemporary(ctx, temporary));
    }
}

// The elements of `source`, cast and laid out as `goal` has them, in one pass.
inline diopiError_t copy(const Site& at, diopiConstTensorHandle_t source, diopiTensorHandle_t goal, bool casts,
                         bool moves_elements) {
    if (casts && !moves_elements && at.helpers.cast_dtype != nullptr) {
        DIOPIGEN_ADAPTOR_CALL(at, "diopiCastDtype", at.helpers.cast_dtype(at.ctx, goal, source));
        return diopiSuccess;
    }
    if (at.helpers.copy_inp == nullptr) {
        return lacks_helper(at, casts && !moves_elements ? "diopiCastDtype" : "diopiCopyInp");
    }
    DIOPIGEN_ADAPTOR_CALL(at, "diopiCopyInp", at.helpers.copy_inp(at.ctx, source, goal));
    return diopiSuccess;
}

// A tensor over the storage of another one, for as long as it is in scope.
class View {
  public:
    View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    ~View() {
        if (handle_ != nullptr) {
            static_cast<void>(diopiHostDestroyTensor(handle_));
        }
    }

    // Elements of the storage of `base`, from its first element on.
    diopiError_t open(const Site& at, diopiConstTensorHandle_t base, diopiDtype_t dtype, const diopiSize_t& size,
                      const diopiSize_t& stride) {
        std::int64_t offset = 0;
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStorageOffset", diopiGetTensorStorageOffset(base, &offset));
        DIOPIGEN_ADAPTOR_CALL(at, "diopiHostCreateView",
                              diopiHostCreateView(&handle_, base, &size, &stride, offset, dtype));
        return diopiSuccess;
    }

    diopiError_t close(const Site& at) {
        const diopiTensorHandle_t handle = handle_;
        handle_ = nullptr;
        DIOPIGEN_ADAPTOR_CALL(at, "diopiHostDestroyTensor", diopiHostDestroyTensor(handle));
        return diopiSuccess;
    }

    diopiTensorHandle_t handle() const { return handle_; }

  private:
    diopiTensorHandle_t handle_ = nullptr;
};

// From a tensor that repeats elements to its temporary, which repeats them too: views without the repetition, so that
// every element is cast once and no helper writes one element several times.
inline diopiError_t copy_distinct(const Site& at, const Tensor& source, diopiTensorHandle_t goal, const Target& target,
                                  bool moves_elements) {
    if (diopiHostCreateView == nullptr || diopiHostDestroyTensor == nullptr || diopiGetTensorStorageOffset == nullptr) {
        return copy(at, source.handle, goal, true, moves_elements);
    }
    View from;
    View to;
    if (moves_elements) {
        const Strides once = sizes_without_repetition(source.size, source.stride);
        DIOPIGEN_ADAPTOR_TRY(from.open(at, source.handle, source.dtype, once.as_size(), source.stride));
        DIOPIGEN_ADAPTOR_TRY(to.open(at, goal, target.dtype, once.as_size(), target.stride.as_size()));
    } else {
        // The same strides, so the same order in both storages, whatever overlaps.
        const std::int64_t length = extent(source.size, source.stride);
        const std::int64_t one = 1;
        DIOPIGEN_ADAPTOR_TRY(from.open(at, source.handle, source.dtype, {&length, 1}, {&one, 1}));
        DIOPIGEN_ADAPTOR_TRY(to.open(at, goal, target.dtype, {&length, 1}, {&one, 1}));
    }
    DIOPIGEN_ADAPTOR_TRY(copy(at, from.handle(), to.handle(), true, moves_elements));
    DIOPIGEN_ADAPTOR_TRY(from.close(at));
    return to.close(at);
}

inline bool checks_overflow() {
    const char* const value = std::getenv("DIOPI_CHECK_OVERFLOW");
    return value != nullptr && value[0] == '1' && value[1] == '\0';
}

inline diopiError_t overflowed(const Site& at, diopiDtype_t from, diopiDtype_t to) {
    return fail(at.helpers, diopiErrorOccurred, "%s, parameter '%s': a value of %s does not fit into %s", at.function,
                at.parameter, dtype_name(from), dtype_name(to));
}

// Reads the storage of `source` on the CPU.
inline diopiError_t check_on_host(const Site& at, const Tensor& source, diopiDtype_t to) {
    std::size_t bytes = 0;
    std::int64_t offset = 0;
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStorageNbytes", diopiGetTensorStorageNbytes(source.handle, &bytes));
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStorageOffset", diopiGetTensorStorageOffset(source.handle, &offset));
    const std::unique_ptr<unsigned char[]> values(new unsigned char[bytes]);
    DIOPIGEN_ADAPTOR_CALL(at, "diopiHostCopyFromStorage",
                          diopiHostCopyFromStorage(at.ctx, source.handle, values.get(), bytes));
    const unsigned char* const first = values.get() + offset * element_bytes(source.dtype);
    return all_fit(first, source.size, source.stride, source.dtype, to) ? diopiSuccess
                                                                        : overflowed(at, source.dtype, to);
}

// Casts `narrow` back and asks the vendor whether it is what it was. Integers only: floating values are rounded.
inline diopiError_t check_on_device(const Site& at, const Tensor& source, diopiTensorHandle_t narrow,
                                    const Target& target) {
    if (at.helpers.equal == nullptr || range_of(source.dtype).kind != Kind::kInteger ||
        range_of(target.dtype).kind != Kind::kInteger) {
        return lacks_helper(at, "diopiEqual or a host with diopiHostCopyFromStorage for DIOPI_CHECK_OVERFLOW");
    }
    diopiTensorHandle_t back = nullptr;
    DIOPIGEN_ADAPTOR_TRY(require_tensor(at, source.size, target.stride, source.dtype, back));
    bool same = false;
    diopiError_t status = copy(at, narrow, back, true, false);
    if (status == diopiSuccess) {
        status = at.helpers.equal(at.ctx, &same, source.handle, back);
        status = status == diopiSuccess ? status : failed_at(at, "diopiEqual", status);
    }
    if (status != diopiSuccess) {
        release_quietly(at.ctx, back);
        return status;
    }
    DIOPIGEN_ADAPTOR_TRY(release(at, back));
    return same ? diopiSuccess : overflowed(at, source.dtype, target.dtype);
}

inline diopiError_t check_narrowing(const Site& at, const Tensor& source, diopiTensorHandle_t narrow,
                                    const Target& target) {
    if (!can_overflow(source.dtype, target.dtype) || !checks_overflow()) {
        return diopiSuccess;
    }
    const bool readable = diopiHostCopyFromStorage != nullptr && diopiGetTensorStorageNbytes != nullptr &&
                          diopiGetTensorStorageOffset != nullptr;
    return readable ? check_on_host(at, source, target.dtype) : check_on_device(at, source, narrow, target);
}

// Fills the temporary of a tensor that the operator reads.
inline diopiError_t copy_in(const Site& at, const Tensor& source, diopiTensorHandle_t temporary, const Target& target) {
    if (is_empty(source.size)) {
        return diopiSuccess;
    }
    const bool casts = source.dtype != target.dtype;
    const bool moves_elements = !same_strides(source.size, source.stride, target.stride.as_size());
    if (casts && extent(source.size, target.stride.as_size()) < element_count(source.size)) {
        DIOPIGEN_ADAPTOR_TRY(copy_distinct(at, source, temporary, target, moves_elements));
    } else {
        DIOPIGEN_ADAPTOR_TRY(copy(at, source.handle, temporary, casts, moves_elements));
    }
    return casts ? check_narrowing(at, source, temporary, target) : diopiSuccess;
}

// Brings the operator's results into the tensor of the caller.
inline diopiError_t copy_back(const Site& at, const Tensor& caller, diopiTensorHandle_t writable,
                              diopiConstTensorHandle_t temporary, const Target& target) {
    if (is_empty(caller.size)) {
        return diopiSuccess;
    }
    return copy(at, temporary, writable, caller.dtype != target.dtype,
                !same_strides(caller.size, caller.stride, target.stride.as_size()));
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_CONVERSION_H_
