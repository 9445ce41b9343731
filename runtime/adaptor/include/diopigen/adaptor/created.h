// The tensors that an operator makes itself: the caller gets them in the dtype that the interface defines.
#ifndef DIOPIGEN_ADAPTOR_CREATED_H_
#define DIOPIGEN_ADAPTOR_CREATED_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "conversion.h"
#include "converted.h"
#include "error.h"
#include "geometry.h"

namespace diopigen {
namespace adaptor {
namespace {

class CreatedTensors {
  public:
    static constexpr std::int64_t kMost = 16;

    CreatedTensors() = default;
    CreatedTensors(const CreatedTensors&) = delete;
    CreatedTensors& operator=(const CreatedTensors&) = delete;

    // Replaces the caller's slots by slots of its own until the results are handed over. False: there are too many.
    bool expect(const char* parameter, diopiTensorHandle_t*& slots, std::int64_t count, diopiDtype_t dtype) {
        if (count_ + count > kMost) {
            return false;
        }
        diopiTensorHandle_t* const own = handles_ + count_;
        for (std::int64_t i = 0; i < count; ++i) {
            handles_[count_] = nullptr;
            slots_[count_] = Slot{parameter, slots + i, dtype};
            ++count_;
        }
        slots = own;
        return true;
    }

    bool has(diopiConstTensorHandle_t tensor) const {
        for (std::int64_t i = 0; tensor != nullptr && i < count_; ++i) {
            if (handles_[i] == tensor) {
                return true;
            }
        }
        return false;
    }

    // Casts what came in another dtype than the interface says. What it says may be open (diopi_dtype_unsupported):
    // then it is the dtype that an input had before it was cast to what came.
    diopiError_t cast(const Site& call, ConvertedList& converted) {
        for (std::int64_t i = 0; i < count_; ++i) {
            const diopiTensorHandle_t got = handles_[i];
            if (got == nullptr) {
                continue;
            }
            const Site at{call.helpers, call.ctx, call.function, slots_[i].parameter};
            diopiDtype_t dtype = diopi_dtype_unsupported;
            DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDtype", diopiGetTensorDtype(got, &dtype));
            const diopiDtype_t requested =
                slots_[i].dtype != diopi_dtype_unsupported ? slots_[i].dtype : dtype_before(dtype, converted);
            if (requested != dtype) {
                DIOPIGEN_ADAPTOR_TRY(cast_one(at, got, dtype, requested, handles_[i]));
                if (!is_temporary(got, converted)) {
                    DIOPIGEN_ADAPTOR_TRY(release(at, got));
                }
            }
        }
        return diopiSuccess;
    }

    // Hands the results over. From here on they are the caller's.
    void deliver() {
        for (std::int64_t i = 0; i < count_; ++i) {
            *slots_[i].caller = handles_[i];
        }
        delivered_ = true;
    }

    // After a failure: what the caller does not get. Temporaries of the call are released with the others.
    void discard(diopiContextHandle_t ctx, ConvertedList& converted) {
        for (std::int64_t i = 0; i < count_ && !delivered_; ++i) {
            if (!is_temporary(handles_[i], converted)) {
                release_quietly(ctx, handles_[i]);
            }
        }
    }

  private:
    struct Slot {
        const char* parameter;
        diopiTensorHandle_t* caller;
        diopiDtype_t dtype;
    };

    static bool is_temporary(diopiConstTensorHandle_t tensor, ConvertedList& converted) {
        for (const Converted& each : converted) {
            if (each.temporary == tensor) {
                return true;
            }
        }
        return false;
    }

    // The dtype that an input had which was cast to this one.
    static diopiDtype_t dtype_before(diopiDtype_t dtype, ConvertedList& converted) {
        for (const Converted& each : converted) {
            if (each.target.dtype == dtype) {
                return each.caller.dtype;
            }
        }
        return dtype;
    }

    static diopiError_t cast_one(const Site& at, diopiTensorHandle_t got, diopiDtype_t from, diopiDtype_t to,
                                 diopiTensorHandle_t& result) {
        Tensor tensor = {};
        tensor.handle = got;
        tensor.dtype = from;
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorShape", diopiGetTensorShape(got, &tensor.size));
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStride", diopiGetTensorStride(got, &tensor.stride));
        const Target target{to, compact_strides(tensor.size, tensor.stride)};
        diopiTensorHandle_t cast = nullptr;
        DIOPIGEN_ADAPTOR_TRY(require_tensor(at, tensor.size, target.stride, to, cast));
        const diopiError_t status = copy_in(at, tensor, cast, target);
        if (status != diopiSuccess) {
            release_quietly(at.ctx, cast);
            return status;
        }
        result = cast;
        return diopiSuccess;
    }

    std::int64_t count_ = 0;
    bool delivered_ = false;
    Slot slots_[kMost];
    diopiTensorHandle_t handles_[kMost];
};

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_CREATED_H_
