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

inline diopiError_t failedAt(const Site& at, const char* callee, diopiError_t status) {
    const char* const more = at.helpers.lastError == nullptr ? nullptr : at.helpers.lastError();
    const bool hasMore = more != nullptr && more[0] != '\0';
    return fail(at.helpers, status, "%s, parameter '%s': %s failed with status %d%s%s", at.function, at.parameter,
                callee, static_cast<int>(status), hasMore ? ": " : "", hasMore ? more : "");
}

inline diopiError_t lacksHelper(const Site& at, const char* helper) {
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
            return failedAt(at, name, called_);             \
        }                                                   \
    } while (false)

inline diopiError_t requireTensor(const Site& at, const diopiSize_t& size, const Strides& stride, diopiDtype_t dtype,
                                  diopiTensorHandle_t& created) {
    const diopiSize_t strides = stride.asSize();
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
inline void releaseQuietly(diopiContextHandle_t ctx, diopiTensorHandle_t temporary) {
    if (temporary != nullptr && diopiHostReleaseTemporary != nullptr) {
        static_cast<void>(diopiHostReleaseTemporary(ctx, temporary));
    }
}

// The elements of `source`, cast and laid out as `goal` has them, in one pass.
inline diopiError_t copy(const Site& at, diopiConstTensorHandle_t source, diopiTensorHandle_t goal, bool casts,
                         bool movesElements) {
    if (casts && !movesElements && at.helpers.castDtype != nullptr) {
        DIOPIGEN_ADAPTOR_CALL(at, "diopiCastDtype", at.helpers.castDtype(at.ctx, goal, source));
        return diopiSuccess;
    }
    if (at.helpers.copyInp == nullptr) {
        return lacksHelper(at, casts && !movesElements ? "diopiCastDtype" : "diopiCopyInp");
    }
    DIOPIGEN_ADAPTOR_CALL(at, "diopiCopyInp", at.helpers.copyInp(at.ctx, source, goal));
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
inline diopiError_t copyDistinct(const Site& at, const Tensor& source, diopiTensorHandle_t goal, const Target& target,
                                 bool movesElements) {
    if (diopiHostCreateView == nullptr || diopiHostDestroyTensor == nullptr || diopiGetTensorStorageOffset == nullptr) {
        return copy(at, source.handle, goal, true, movesElements);
    }
    View from;
    View to;
    if (movesElements) {
        const Strides once = sizesWithoutRepetition(source.size, source.stride);
        DIOPIGEN_ADAPTOR_TRY(from.open(at, source.handle, source.dtype, once.asSize(), source.stride));
        DIOPIGEN_ADAPTOR_TRY(to.open(at, goal, target.dtype, once.asSize(), target.stride.asSize()));
    } else {
        // The same strides, so the same order in both storages, whatever overlaps.
        const std::int64_t length = extent(source.size, source.stride);
        const std::int64_t one = 1;
        DIOPIGEN_ADAPTOR_TRY(from.open(at, source.handle, source.dtype, {&length, 1}, {&one, 1}));
        DIOPIGEN_ADAPTOR_TRY(to.open(at, goal, target.dtype, {&length, 1}, {&one, 1}));
    }
    DIOPIGEN_ADAPTOR_TRY(copy(at, from.handle(), to.handle(), true, movesElements));
    DIOPIGEN_ADAPTOR_TRY(from.close(at));
    return to.close(at);
}

inline bool checksOverflow() {
    const char* const value = std::getenv("DIOPI_CHECK_OVERFLOW");
    return value != nullptr && value[0] == '1' && value[1] == '\0';
}

inline diopiError_t overflowed(const Site& at, diopiDtype_t from, diopiDtype_t to) {
    return fail(at.helpers, diopiErrorOccurred, "%s, parameter '%s': a value of %s does not fit into %s", at.function,
                at.parameter, dtypeName(from), dtypeName(to));
}

// Reads the storage of `source` on the CPU.
inline diopiError_t checkOnHost(const Site& at, const Tensor& source, diopiDtype_t to) {
    std::size_t bytes = 0;
    std::int64_t offset = 0;
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStorageNbytes", diopiGetTensorStorageNbytes(source.handle, &bytes));
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStorageOffset", diopiGetTensorStorageOffset(source.handle, &offset));
    const std::unique_ptr<unsigned char[]> values(new unsigned char[bytes]);
    DIOPIGEN_ADAPTOR_CALL(at, "diopiHostCopyFromStorage",
                          diopiHostCopyFromStorage(at.ctx, source.handle, values.get(), bytes));
    const unsigned char* const first = values.get() + offset * elementBytes(source.dtype);
    return allFit(first, source.size, source.stride, source.dtype, to) ? diopiSuccess
                                                                       : overflowed(at, source.dtype, to);
}

// Casts `narrow` back and asks the vendor whether it is what it was. Integers only: floating values are rounded.
inline diopiError_t checkOnDevice(const Site& at, const Tensor& source, diopiTensorHandle_t narrow,
                                  const Target& target) {
    if (at.helpers.equal == nullptr || rangeOf(source.dtype).kind != Kind::integer ||
        rangeOf(target.dtype).kind != Kind::integer) {
        return lacksHelper(at, "diopiEqual or a host with diopiHostCopyFromStorage for DIOPI_CHECK_OVERFLOW");
    }
    diopiTensorHandle_t back = nullptr;
    DIOPIGEN_ADAPTOR_TRY(requireTensor(at, source.size, target.stride, source.dtype, back));
    bool same = false;
    diopiError_t status = copy(at, narrow, back, true, false);
    if (status == diopiSuccess) {
        status = at.helpers.equal(at.ctx, &same, source.handle, back);
        status = status == diopiSuccess ? status : failedAt(at, "diopiEqual", status);
    }
    if (status != diopiSuccess) {
        releaseQuietly(at.ctx, back);
        return status;
    }
    DIOPIGEN_ADAPTOR_TRY(release(at, back));
    return same ? diopiSuccess : overflowed(at, source.dtype, target.dtype);
}

inline diopiError_t checkNarrowing(const Site& at, const Tensor& source, diopiTensorHandle_t narrow,
                                   const Target& target) {
    if (!canOverflow(source.dtype, target.dtype) || !checksOverflow()) {
        return diopiSuccess;
    }
    const bool readable = diopiHostCopyFromStorage != nullptr && diopiGetTensorStorageNbytes != nullptr &&
                          diopiGetTensorStorageOffset != nullptr;
    return readable ? checkOnHost(at, source, target.dtype) : checkOnDevice(at, source, narrow, target);
}

// Fills the temporary of a tensor that the operator reads.
inline diopiError_t copyIn(const Site& at, const Tensor& source, diopiTensorHandle_t temporary, const Target& target) {
    if (isEmpty(source.size)) {
        return diopiSuccess;
    }
    const bool casts = source.dtype != target.dtype;
    const bool movesElements = !sameStrides(source.size, source.stride, target.stride.asSize());
    if (casts && extent(source.size, target.stride.asSize()) < elementCount(source.size)) {
        DIOPIGEN_ADAPTOR_TRY(copyDistinct(at, source, temporary, target, movesElements));
    } else {
        DIOPIGEN_ADAPTOR_TRY(copy(at, source.handle, temporary, casts, movesElements));
    }
    return casts ? checkNarrowing(at, source, temporary, target) : diopiSuccess;
}

// Brings the operator's results into the tensor of the caller.
inline diopiError_t copyBack(const Site& at, const Tensor& caller, diopiTensorHandle_t writable,
                             diopiConstTensorHandle_t temporary, const Target& target) {
    if (isEmpty(caller.size)) {
        return diopiSuccess;
    }
    return copy(at, temporary, writable, caller.dtype != target.dtype,
                !sameStrides(caller.size, caller.stride, target.stride.asSize()));
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_CONVERSION_H_
