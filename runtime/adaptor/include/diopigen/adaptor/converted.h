// The tensors of one call that the operator gets in another form: made on the way in, written back on the way out.
#ifndef DIOPIGEN_ADAPTOR_CONVERTED_H_
#define DIOPIGEN_ADAPTOR_CONVERTED_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "buffer.h"
#include "conversion.h"
#include "error.h"
#include "examination.h"
#include "geometry.h"
#include "rule.h"

namespace diopigen {
namespace adaptor {
namespace {

// Plain data: a list moves it as bytes.
struct Converted {
    const char* parameter;
    Tensor caller;
    diopiTensorHandle_t writable;  // the caller's tensor, where the operator writes it
    Target target;
    diopiTensorHandle_t temporary;
    diopiTensorHandle_t backup;
    bool filled;
    bool written;

    bool moves() const { return !same_strides(caller.size, caller.stride, target.stride.as_size()); }
};

// How many tensors a call holds without asking the heap.
constexpr std::int64_t kInlineTensors = 24;
using ConvertedList = Buffer<Converted, kInlineTensors>;

// The same tensor on its way to the same form, where there is one already.
inline Converted* find_converted(ConvertedList& list, const Tensor& tensor, const Target& target) {
    for (Converted& each : list) {
        if (same_memory(each.caller, tensor) && each.target.dtype == target.dtype &&
            same_strides(tensor.size, each.target.stride.as_size(), target.stride.as_size())) {
            return &each;
        }
    }
    return nullptr;
}

// ---- On the way in --------------------------------------------------------------------------------------------------

// The detour of a vendor that has diopiContiguous but no diopiCopyInp.
inline diopiError_t make_contiguous(const Site& at, const Rule& rule, Converted& each) {
    static constexpr diopiMemoryFormat_t kChannelsLastOf[] = {ChannelsLast1d, ChannelsLast, ChannelsLast3d};
    const std::int64_t rank = each.caller.size.len;
    const std::uint8_t layouts = rule.layouts_of(rank);
    const bool last = layouts != 0 && wants_channels_last(layouts) && rank >= 3 && rank <= 5;
    diopiTensorHandle_t dense = nullptr;
    DIOPIGEN_ADAPTOR_CALL(
        at, "diopiContiguous",
        at.helpers.contiguous(at.ctx, &dense, each.caller.handle, last ? kChannelsLastOf[rank - 3] : Contiguous));
    if (dense == nullptr) {
        return fail(at.helpers, diopiErrorOccurred, "%s, parameter '%s': diopiContiguous gave no tensor", at.function,
                    at.parameter);
    }
    each.target.stride = last ? channels_last_strides(each.caller.size) : row_major_strides(each.caller.size);
    if (each.target.dtype == each.caller.dtype) {
        each.temporary = dense;
        return diopiSuccess;
    }
    diopiError_t status = require_tensor(at, each.caller.size, each.target.stride, each.target.dtype, each.temporary);
    if (status == diopiSuccess) {
        status = copy(at, dense, each.temporary, true, false);
    }
    if (status == diopiSuccess) {
        status = check_narrowing(at, each.caller, each.temporary, each.target);
    }
    if (status != diopiSuccess) {
        release_quietly(at.ctx, dense);
        return status;
    }
    return release(at, dense);
}

// The temporary. Of a tensor that is only `read` it may come with its elements.
inline diopiError_t make_temporary(const Site& at, const Rule& rule, bool read, Converted& each) {
    if (read && each.moves() && at.helpers.copy_inp == nullptr && at.helpers.contiguous != nullptr) {
        DIOPIGEN_ADAPTOR_TRY(make_contiguous(at, rule, each));
        each.filled = true;
        return diopiSuccess;
    }
    return require_tensor(at, each.caller.size, each.target.stride, each.target.dtype, each.temporary);
}

// Asked before the operator runs: better no result than one that cannot be handed over.
inline diopiError_t can_copy_back(const Site& at, const Converted& each) {
    const bool can_cast = at.helpers.cast_dtype != nullptr && !each.moves() && each.caller.dtype != each.target.dtype;
    return at.helpers.copy_inp != nullptr || can_cast
               ? diopiSuccess
               : lacks_helper(
                     at, each.moves() || each.caller.dtype == each.target.dtype ? "diopiCopyInp" : "diopiCastDtype");
}

// ---- On the way out -------------------------------------------------------------------------------------------------

inline Site site_of(const Site& at, const Converted& each) {
    return Site{at.helpers, at.ctx, at.function, each.parameter};
}

inline diopiError_t back_up_one(const Site& at, Converted& each) {
    if (is_empty(each.caller.size)) {
        return diopiSuccess;
    }
    const Strides stride = compact_strides(each.caller.size, each.caller.stride);
    DIOPIGEN_ADAPTOR_TRY(require_tensor(at, each.caller.size, stride, each.caller.dtype, each.backup));
    return copy(at, each.caller.handle, each.backup, false, true);
}

// Where several tensors are written, a failure in the middle must not leave some of them changed.
inline diopiError_t back_up(const Site& at, ConvertedList& list) {
    Converted* previous = nullptr;
    for (Converted& each : list) {
        if (!each.written) {
            continue;
        }
        if (previous != nullptr) {
            DIOPIGEN_ADAPTOR_TRY(back_up_one(site_of(at, *previous), *previous));
        }
        previous = &each;
    }
    return diopiSuccess;
}

// Puts the old values back into what has been written up to and including `failed`.
inline void restore(const Site& at, ConvertedList& list, const Converted* failed) {
    for (Converted& each : list) {
        if (each.backup != nullptr && at.helpers.copy_inp != nullptr) {
            static_cast<void>(at.helpers.copy_inp(at.ctx, each.backup, each.writable));
        }
        if (&each == failed) {
            return;
        }
    }
}

inline diopiError_t write_back(const Site& at, ConvertedList& list) {
    for (Converted& each : list) {
        if (!each.written) {
            continue;
        }
        const diopiError_t status =
            copy_back(site_of(at, each), each.caller, each.writable, each.temporary, each.target);
        if (status != diopiSuccess) {
            restore(at, list, &each);
            return status;
        }
    }
    return diopiSuccess;
}

// Forgets the temporary first, so that it is not released a second time where this fails.
inline diopiError_t release_one(const Site& at, diopiTensorHandle_t& temporary) {
    const diopiTensorHandle_t released = temporary;
    temporary = nullptr;
    return released == nullptr ? diopiSuccess : release(at, released);
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_CONVERTED_H_
