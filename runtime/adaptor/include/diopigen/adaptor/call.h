// A call that converts. It replaces the caller's tensors by temporaries on the way in, and brings the results back on
// the way out, once the operator has succeeded and not before.
#ifndef DIOPIGEN_ADAPTOR_CALL_H_
#define DIOPIGEN_ADAPTOR_CALL_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "buffer.h"
#include "conversion.h"
#include "error.h"
#include "geometry.h"
#include "rule.h"

namespace diopigen {
namespace adaptor {
namespace {

#define DIOPIGEN_ADAPTOR_OUT_OF_LINE __attribute__((noinline))

// A parameter by what the operator does with it.
enum class Access { read, write, readAndWrite };

class Call {
  public:
    DIOPIGEN_ADAPTOR_OUT_OF_LINE Call(const Helpers& helpers, diopiContextHandle_t ctx, const char* function)
        : helpers_(helpers), ctx_(ctx), function_(function) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Every shim has a Call in it: what is long is kept out of line.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE ~Call() {
        for (Converted& each : converted_) {
            releaseQuietly(ctx_, each.temporary);
            releaseQuietly(ctx_, each.backup);
        }
    }

    // Room for the tensors of arrays, so that the heap is asked at most once for each of the two lists.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE void expect(std::int64_t tensors) {
        if (tensors > 0) {
            converted_.reserve(tensors + inlineTensors);
            handles_.reserve(tensors);
        }
    }

    // Each of these replaces a parameter where its rule says so. False: the call has failed, and status() says how.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiConstTensorHandle_t& tensor) {
        diopiTensorHandle_t given = nullptr;
        status_ = convert(place(parameter), rule, Access::read, tensor, nullptr, given);
        tensor = given != nullptr ? given : tensor;
        return status_ == diopiSuccess;
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiTensorHandle_t& tensor) {
        return replace(rule, parameter, Access::read, tensor);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool out(const Rule& rule, const char* parameter, diopiTensorHandle_t& tensor) {
        return replace(rule, parameter, Access::write, tensor);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool inout(const Rule& rule, const char* parameter, diopiTensorHandle_t& tensor) {
        return replace(rule, parameter, Access::readAndWrite, tensor);
    }

    // The same for arrays. The caller's array is left as it is: the operator gets another one.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiConstTensorHandle_t*& tensors,
                                         std::int64_t count) {
        // The elements are only read; the list holds both kinds of handles.
        diopiTensorHandle_t* list = const_cast<diopiTensorHandle_t*>(tensors);
        const bool good = replaceAll(rule, parameter, Access::read, list, count);
        tensors = const_cast<diopiConstTensorHandle_t*>(list);
        return good;
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiTensorHandle_t*& tensors,
                                         std::int64_t count) {
        return replaceAll(rule, parameter, Access::read, tensors, count);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool out(const Rule& rule, const char* parameter, diopiTensorHandle_t*& tensors,
                                          std::int64_t count) {
        return replaceAll(rule, parameter, Access::write, tensors, count);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool inout(const Rule& rule, const char* parameter, diopiTensorHandle_t*& tensors,
                                            std::int64_t count) {
        return replaceAll(rule, parameter, Access::readAndWrite, tensors, count);
    }

    // Tensors that the operator makes: the caller gets them in the dtype that the interface defines. Where that is
    // one of several (diopi_dtype_unsupported), it is the dtype that an input had before it was cast to what came.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool made(const char* parameter, diopiTensorHandle_t*& tensors, std::int64_t count,
                                           diopiDtype_t dtype) {
        if (tensors == nullptr || count <= 0) {
            return true;
        }
        if (madeCount_ + count > maxMade) {
            status_ = fail(helpers_, diopiErrorOccurred, "%s, parameter '%s': more than %d new tensors", function_,
                           parameter, static_cast<int>(maxMade));
            return false;
        }
        diopiTensorHandle_t* const list = madeHandles_ + madeCount_;
        for (std::int64_t i = 0; i < count; ++i) {
            madeHandles_[madeCount_] = nullptr;
            made_[madeCount_] = Made{parameter, tensors + i, dtype};
            ++madeCount_;
        }
        tensors = list;
        return true;
    }

    diopiError_t status() const { return status_; }

    // Runs the operator, and brings its results back if it succeeds.
    template <class... Parameters>
    diopiError_t run(diopiError_t (*function)(Parameters...), Parameters... parameters) {
        return commit(function(parameters...));
    }

  private:
    // `status` is what the operator answered.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE diopiError_t commit(diopiError_t status) {
        if (status != diopiSuccess) {
            clearLastError();
            return status;
        }
        status = settle();
        for (std::int64_t i = 0; i < madeCount_ && !delivered_; ++i) {
            if (!isTemporary(madeHandles_[i])) {
                releaseQuietly(ctx_, madeHandles_[i]);
            }
        }
        return status;
    }

    static constexpr std::int64_t inlineTensors = 24;
    static constexpr std::int64_t maxMade = 16;

    // A tensor that the operator gets in another form. Plain data: the list moves it as bytes.
    struct Converted {
        const char* parameter;
        Tensor caller;
        diopiTensorHandle_t writable;  // the caller's tensor, where the operator writes it
        Target target;
        diopiTensorHandle_t temporary;
        diopiTensorHandle_t backup;
        bool filled;
        bool written;
    };

    struct Made {
        const char* parameter;
        diopiTensorHandle_t* caller;
        diopiDtype_t dtype;
    };

    Place place(const char* parameter) const { return Place{helpers_, ctx_, function_, parameter}; }

    bool replace(const Rule& rule, const char* parameter, Access access, diopiTensorHandle_t& tensor) {
        diopiTensorHandle_t given = nullptr;
        status_ = convert(place(parameter), rule, access, tensor, tensor, given);
        tensor = given != nullptr ? given : tensor;
        return status_ == diopiSuccess;
    }

    bool replaceAll(const Rule& rule, const char* parameter, Access access, diopiTensorHandle_t*& tensors,
                    std::int64_t count) {
        if (tensors == nullptr || count <= 0) {
            return true;
        }
        handles_.reserve(count);
        diopiTensorHandle_t* const list = handles_.end();
        for (std::int64_t i = 0; i < count; ++i) {
            if (!replace(rule, parameter, access, handles_.add(tensors[i]))) {
                return false;
            }
        }
        tensors = list;
        return true;
    }

    // Whether both are the same elements of the same memory: a framework may have several handles of one tensor.
    static bool sameMemory(const Tensor& left, const Tensor& right) {
        return left.handle == right.handle ||
               (left.data != nullptr && left.data == right.data && left.dtype == right.dtype &&
                sameSizes(left.size, right.size) && sameStrides(left.size, left.stride, right.stride));
    }

    Converted* find(const Tensor& tensor, const Target& target) {
        for (Converted& each : converted_) {
            if (sameMemory(each.caller, tensor) && each.target.dtype == target.dtype &&
                sameStrides(tensor.size, each.target.stride.asSize(), target.stride.asSize())) {
                return &each;
            }
        }
        return nullptr;
    }

    bool isTemporary(diopiConstTensorHandle_t tensor) {
        for (Converted& each : converted_) {
            if (each.temporary == tensor) {
                return true;
            }
        }
        return false;
    }

    // What the tensor is and has to become. `needed` stays false for a tensor that can stay as it is.
    static diopiError_t examine(const Place& at, const Rule& rule, diopiConstTensorHandle_t handle, Tensor& tensor,
                                Target& target, bool& needed) {
        tensor.handle = handle;
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDtype", diopiGetTensorDtype(handle, &tensor.dtype));
        const bool casts = rule.converts(tensor.dtype);
        if (!casts && !rule.demandsLayout) {
            return diopiSuccess;
        }
        bool isSparse = false;
        if (diopiIsTensorSparse != nullptr) {
            DIOPIGEN_ADAPTOR_CALL(at, "diopiIsTensorSparse", diopiIsTensorSparse(handle, &isSparse));
        }
        if (isSparse) {
            // It has no strides, so no layout either.
            return !casts ? diopiSuccess
                          : fail(at.helpers, diopiDtypeNotSupported,
                                 "%s, parameter '%s': a sparse tensor of %s cannot be converted", at.function,
                                 at.parameter, dtypeName(tensor.dtype));
        }
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorShape", diopiGetTensorShape(handle, &tensor.size));
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStride", diopiGetTensorStride(handle, &tensor.stride));
        if (tensor.size.len != tensor.stride.len || tensor.size.len < 0 || tensor.size.len > maxRank) {
            return fail(at.helpers, diopiErrorOccurred, "%s, parameter '%s': %lld sizes with %lld strides", at.function,
                        at.parameter, static_cast<long long>(tensor.size.len),
                        static_cast<long long>(tensor.stride.len));
        }
        const std::uint8_t layouts = rule.layoutsOf(tensor.size.len);
        const bool fits = layoutFits(layouts, tensor.size, tensor.stride);
        if (!casts && fits) {
            return diopiSuccess;
        }
        // The limits are those of the device: what lies in host memory is read by the CPU.
        diopiDevice_t device = diopi_device;
        if (diopiGetTensorDevice != nullptr) {
            DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDevice", diopiGetTensorDevice(handle, &device));
        }
        if (device == diopi_host) {
            return diopiSuccess;
        }
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDataConst", diopiGetTensorDataConst(handle, &tensor.data));
        const bool toChannelsLast = (layouts & rowMajor) == 0 || (layouts & ratherChannelsLast) != 0;
        target.dtype = rule.targetOf(tensor.dtype);
        target.stride = fits ? compactStrides(tensor.size, tensor.stride)
                             : (toChannelsLast ? channelsLastStrides(tensor.size) : rowMajorStrides(tensor.size));
        needed = true;
        return diopiSuccess;
    }

    diopiError_t convert(const Place& at, const Rule& rule, Access access, diopiConstTensorHandle_t handle,
                         diopiTensorHandle_t writable, diopiTensorHandle_t& given) {
        if (handle == nullptr) {
            return diopiSuccess;
        }
        Converted fresh = {};
        bool needed = false;
        DIOPIGEN_ADAPTOR_TRY(examine(at, rule, handle, fresh.caller, fresh.target, needed));
        if (!needed) {
            return diopiSuccess;
        }
        Converted* each = find(fresh.caller, fresh.target);
        if (each == nullptr) {
            fresh.parameter = at.parameter;
            each = &converted_.add(fresh);
            const bool moves = !sameStrides(fresh.caller.size, fresh.caller.stride, fresh.target.stride.asSize());
            if (moves && helpers_.copyInp == nullptr && access == Access::read && helpers_.contiguous != nullptr) {
                DIOPIGEN_ADAPTOR_TRY(makeContiguous(at, rule, *each));
                each->filled = true;
            } else {
                DIOPIGEN_ADAPTOR_TRY(
                    requireTensor(at, fresh.caller.size, fresh.target.stride, fresh.target.dtype, each->temporary));
            }
        }
        if (access != Access::write && !each->filled) {
            DIOPIGEN_ADAPTOR_TRY(copyIn(at, each->caller, each->temporary, each->target));
            each->filled = true;
        }
        if (access != Access::read) {
            DIOPIGEN_ADAPTOR_TRY(canCopyBack(at, *each));
            each->written = true;
            each->writable = writable;
        }
        given = each->temporary;
        return diopiSuccess;
    }

    // The detour of a vendor that has diopiContiguous but no diopiCopyInp.
    diopiError_t makeContiguous(const Place& at, const Rule& rule, Converted& each) {
        static constexpr diopiMemoryFormat_t channelsLastOf[] = {ChannelsLast1d, ChannelsLast, ChannelsLast3d};
        const std::int64_t rank = each.caller.size.len;
        const std::uint8_t layouts = rule.layoutsOf(rank);
        const bool last = layouts != 0 && ((layouts & rowMajor) == 0 || (layouts & ratherChannelsLast) != 0) &&
                          rank >= 3 && rank <= 5;
        diopiTensorHandle_t dense = nullptr;
        DIOPIGEN_ADAPTOR_CALL(
            at, "diopiContiguous",
            helpers_.contiguous(ctx_, &dense, each.caller.handle, last ? channelsLastOf[rank - 3] : Contiguous));
        if (dense == nullptr) {
            return fail(helpers_, diopiErrorOccurred, "%s, parameter '%s': diopiContiguous gave no tensor", at.function,
                        at.parameter);
        }
        each.target.stride = last ? channelsLastStrides(each.caller.size) : rowMajorStrides(each.caller.size);
        if (each.target.dtype == each.caller.dtype) {
            each.temporary = dense;
            return diopiSuccess;
        }
        diopiError_t status =
            requireTensor(at, each.caller.size, each.target.stride, each.target.dtype, each.temporary);
        if (status == diopiSuccess) {
            status = copy(at, dense, each.temporary, true, false);
        }
        if (status == diopiSuccess) {
            status = checkNarrowing(at, each.caller, each.temporary, each.target);
        }
        if (status != diopiSuccess) {
            releaseQuietly(ctx_, dense);
            return status;
        }
        return release(at, dense);
    }

    // Asked before the operator runs: better no result than one that cannot be handed over.
    diopiError_t canCopyBack(const Place& at, const Converted& each) const {
        const bool moves = !sameStrides(each.caller.size, each.caller.stride, each.target.stride.asSize());
        const bool canCast = helpers_.castDtype != nullptr && !moves;
        return helpers_.copyInp != nullptr || canCast ? diopiSuccess
                                                      : lacksHelper(at, moves ? "diopiCopyInp" : "diopiCastDtype");
    }

    // Everything that can fail comes before the first tensor of the caller is touched, as far as that is possible.
    diopiError_t settle() {
        DIOPIGEN_ADAPTOR_TRY(castMade());
        DIOPIGEN_ADAPTOR_TRY(releaseAll(false));
        DIOPIGEN_ADAPTOR_TRY(backUp());
        DIOPIGEN_ADAPTOR_TRY(writeBack());
        deliver();
        return releaseAll(true);
    }

    void deliver() {
        for (std::int64_t i = 0; i < madeCount_; ++i) {
            *made_[i].caller = madeHandles_[i];
        }
        delivered_ = true;
        for (Converted& each : converted_) {
            each.temporary = isMade(each.temporary) ? nullptr : each.temporary;
        }
    }

    diopiError_t castMade() {
        for (std::int64_t i = 0; i < madeCount_; ++i) {
            const diopiTensorHandle_t got = madeHandles_[i];
            if (got == nullptr) {
                continue;
            }
            const Place at = place(made_[i].parameter);
            diopiDtype_t dtype = diopi_dtype_unsupported;
            DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDtype", diopiGetTensorDtype(got, &dtype));
            const diopiDtype_t wanted = made_[i].dtype != diopi_dtype_unsupported ? made_[i].dtype : dtypeBefore(dtype);
            if (wanted != dtype) {
                DIOPIGEN_ADAPTOR_TRY(castOne(at, got, dtype, wanted, madeHandles_[i]));
            }
        }
        return diopiSuccess;
    }

    // The dtype that an input had which was cast to this one.
    diopiDtype_t dtypeBefore(diopiDtype_t dtype) {
        for (const Converted& each : converted_) {
            if (each.target.dtype == dtype) {
                return each.caller.dtype;
            }
        }
        return dtype;
    }

    diopiError_t castOne(const Place& at, diopiTensorHandle_t got, diopiDtype_t from, diopiDtype_t to,
                         diopiTensorHandle_t& result) {
        Tensor tensor = {};
        tensor.handle = got;
        tensor.dtype = from;
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorShape", diopiGetTensorShape(got, &tensor.size));
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStride", diopiGetTensorStride(got, &tensor.stride));
        const Target target{to, compactStrides(tensor.size, tensor.stride)};
        diopiTensorHandle_t cast = nullptr;
        DIOPIGEN_ADAPTOR_TRY(requireTensor(at, tensor.size, target.stride, to, cast));
        const diopiError_t status = copyIn(at, tensor, cast, target);
        if (status != diopiSuccess) {
            releaseQuietly(ctx_, cast);
            return status;
        }
        result = cast;
        return isTemporary(got) ? diopiSuccess : release(at, got);
    }

    // Where several tensors are written, a failure in the middle must not leave some of them changed.
    diopiError_t backUp() {
        Converted* previous = nullptr;
        for (Converted& each : converted_) {
            if (!each.written) {
                continue;
            }
            if (previous != nullptr) {
                DIOPIGEN_ADAPTOR_TRY(backUpOne(*previous));
            }
            previous = &each;
        }
        return diopiSuccess;
    }

    diopiError_t backUpOne(Converted& each) {
        if (isEmpty(each.caller.size)) {
            return diopiSuccess;
        }
        const Place at = place(each.parameter);
        const Strides stride = compactStrides(each.caller.size, each.caller.stride);
        DIOPIGEN_ADAPTOR_TRY(requireTensor(at, each.caller.size, stride, each.caller.dtype, each.backup));
        return copy(at, each.caller.handle, each.backup, false, true);
    }

    diopiError_t writeBack() {
        for (Converted& each : converted_) {
            if (!each.written) {
                continue;
            }
            const Place at = place(each.parameter);
            const diopiError_t status = copyBack(at, each.caller, each.writable, each.temporary, each.target);
            if (status != diopiSuccess) {
                restore(&each);
                return status;
            }
        }
        return diopiSuccess;
    }

    // Puts the old values back into what has been written up to and including `failed`.
    void restore(const Converted* failed) {
        for (Converted& each : converted_) {
            if (each.backup != nullptr && helpers_.copyInp != nullptr) {
                static_cast<void>(helpers_.copyInp(ctx_, each.backup, each.writable));
            }
            if (&each == failed) {
                return;
            }
        }
    }

    // Temporaries that are only read, or those that were written; one that becomes an output stays.
    diopiError_t releaseAll(bool written) {
        for (Converted& each : converted_) {
            if (each.written == written && !isMade(each.temporary)) {
                DIOPIGEN_ADAPTOR_TRY(releaseOne(each.parameter, each.temporary));
                DIOPIGEN_ADAPTOR_TRY(releaseOne(each.parameter, each.backup));
            }
        }
        return diopiSuccess;
    }

    // Forgets the temporary first, so that it is not released a second time where this fails.
    diopiError_t releaseOne(const char* parameter, diopiTensorHandle_t& temporary) {
        const diopiTensorHandle_t released = temporary;
        temporary = nullptr;
        return released == nullptr ? diopiSuccess : release(place(parameter), released);
    }

    bool isMade(diopiConstTensorHandle_t tensor) const {
        for (std::int64_t i = 0; tensor != nullptr && i < madeCount_; ++i) {
            if (madeHandles_[i] == tensor) {
                return true;
            }
        }
        return false;
    }

    const Helpers& helpers_;
    const diopiContextHandle_t ctx_;
    const char* const function_;
    diopiError_t status_ = diopiSuccess;
    std::int64_t madeCount_ = 0;
    bool delivered_ = false;
    Buffer<Converted, inlineTensors> converted_;
    Buffer<diopiTensorHandle_t, inlineTensors> handles_;
    Made made_[maxMade];
    diopiTensorHandle_t madeHandles_[maxMade];
};

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_CALL_H_
