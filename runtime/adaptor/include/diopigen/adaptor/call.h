// A call that converts. It replaces the caller's tensors by temporaries on the way in, and brings the results back on
// the way out, once the operator has succeeded and not before.
#ifndef DIOPIGEN_ADAPTOR_CALL_H_
#define DIOPIGEN_ADAPTOR_CALL_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "buffer.h"
#include "conversion.h"
#include "converted.h"
#include "created.h"
#include "error.h"
#include "examination.h"
#include "overlap.h"
#include "rule.h"

namespace diopigen {
namespace adaptor {
namespace {

#define DIOPIGEN_ADAPTOR_OUT_OF_LINE __attribute__((noinline))

// A parameter by what the operator does with it.
enum class Access { kRead, kWrite, kKReadAndWrite };

class Call {
  public:
    DIOPIGEN_ADAPTOR_OUT_OF_LINE Call(const Helpers& helpers, diopiContextHandle_t ctx, const char* function)
        : helpers_(helpers), ctx_(ctx), function_(function) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Every shim has a Call in it: what is long is kept out of line.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE ~Call() {
        for (Converted& each : converted_) {
            release_quietly(ctx_, each.temporary);
            release_quietly(ctx_, each.backup);
        }
    }

    // Room for the tensors of arrays, so that the heap is asked at most once for each of the two lists.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE void expect(std::int64_t tensors) {
        if (tensors > 0) {
            converted_.reserve(tensors + kInlineTensors);
            handles_.reserve(tensors);
        }
    }

    // Each of these replaces a parameter where its rule says so. False: the call has failed, and status() says how.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiConstTensorHandle_t& tensor) {
        diopiTensorHandle_t passed = nullptr;
        status_ = convert(site(parameter), rule, Access::kRead, tensor, nullptr, passed);
        tensor = passed != nullptr ? passed : tensor;
        return status_ == diopiSuccess;
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiTensorHandle_t& tensor) {
        return replace(rule, parameter, Access::kRead, tensor);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool out(const Rule& rule, const char* parameter, diopiTensorHandle_t& tensor) {
        return replace(rule, parameter, Access::kWrite, tensor);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool inout(const Rule& rule, const char* parameter, diopiTensorHandle_t& tensor) {
        return replace(rule, parameter, Access::kKReadAndWrite, tensor);
    }

    // The same for arrays. The caller's array is left as it is: the operator gets another one.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiConstTensorHandle_t*& tensors,
                                         std::int64_t count) {
        // The elements are only read; the list holds both kinds of handles.
        diopiTensorHandle_t* list = const_cast<diopiTensorHandle_t*>(tensors);
        const bool good = replace_all(rule, parameter, Access::kRead, list, count);
        tensors = const_cast<diopiConstTensorHandle_t*>(list);
        return good;
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool in(const Rule& rule, const char* parameter, diopiTensorHandle_t*& tensors,
                                         std::int64_t count) {
        return replace_all(rule, parameter, Access::kRead, tensors, count);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool out(const Rule& rule, const char* parameter, diopiTensorHandle_t*& tensors,
                                          std::int64_t count) {
        return replace_all(rule, parameter, Access::kWrite, tensors, count);
    }
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool inout(const Rule& rule, const char* parameter, diopiTensorHandle_t*& tensors,
                                            std::int64_t count) {
        return replace_all(rule, parameter, Access::kKReadAndWrite, tensors, count);
    }

    // Tensors that the operator makes, in the dtype that the interface defines; diopi_dtype_unsupported where that is
    // one of several.
    DIOPIGEN_ADAPTOR_OUT_OF_LINE bool created(const char* parameter, diopiTensorHandle_t*& tensors, std::int64_t count,
                                              diopiDtype_t dtype) {
        if (tensors == nullptr || count <= 0 || created_.expect(parameter, tensors, count, dtype)) {
            return true;
        }
        status_ = fail(helpers_, diopiErrorOccurred, "%s, parameter '%s': more than %d new tensors", function_,
                       parameter, static_cast<int>(CreatedTensors::kMost));
        return false;
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
            clear_last_error();
            return status;
        }
        status = settle();
        created_.discard(ctx_, converted_);
        return status;
    }

    Site site(const char* parameter) const { return Site{helpers_, ctx_, function_, parameter}; }

    bool replace(const Rule& rule, const char* parameter, Access access, diopiTensorHandle_t& tensor) {
        diopiTensorHandle_t passed = nullptr;
        status_ = convert(site(parameter), rule, access, tensor, tensor, passed);
        tensor = passed != nullptr ? passed : tensor;
        return status_ == diopiSuccess;
    }

    bool replace_all(const Rule& rule, const char* parameter, Access access, diopiTensorHandle_t*& tensors,
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

    // `passed` stays null where the operator can take the tensor as it is.
    diopiError_t convert(const Site& at, const Rule& rule, Access access, diopiConstTensorHandle_t handle,
                         diopiTensorHandle_t writable, diopiTensorHandle_t& passed) {
        if (handle == nullptr) {
            return diopiSuccess;
        }
        DIOPIGEN_ADAPTOR_TRY(add_extent(at, extents_, handle, access != Access::kRead));
        Converted fresh = {};
        bool needed = false;
        DIOPIGEN_ADAPTOR_TRY(examine(at, rule, handle, fresh.caller, fresh.target, needed));
        if (!needed) {
            return diopiSuccess;
        }
        Converted* each = find_converted(converted_, fresh.caller, fresh.target);
        if (each == nullptr) {
            fresh.parameter = at.parameter;
            each = &converted_.add(fresh);
            DIOPIGEN_ADAPTOR_TRY(make_temporary(at, rule, access == Access::kRead, *each));
        }
        if (access != Access::kWrite && !each->filled) {
            DIOPIGEN_ADAPTOR_TRY(copy_in(at, each->caller, each->temporary, each->target));
            each->filled = true;
        }
        if (access != Access::kRead) {
            DIOPIGEN_ADAPTOR_TRY(can_copy_back(at, *each));
            each->written = true;
            each->writable = writable;
        }
        passed = each->temporary;
        return diopiSuccess;
    }

    // Everything that can fail comes before the first tensor of the caller is touched, as far as that is possible.
    diopiError_t settle() {
        const Site at = site("");
        DIOPIGEN_ADAPTOR_TRY(created_.cast(at, converted_));
        DIOPIGEN_ADAPTOR_TRY(release_all(false));
        DIOPIGEN_ADAPTOR_TRY(back_up(at, converted_));
        DIOPIGEN_ADAPTOR_TRY(write_back(at, converted_));
        created_.deliver();
        for (Converted& each : converted_) {
            each.temporary = created_.has(each.temporary) ? nullptr : each.temporary;
        }
        return release_all(true);
    }

    // Temporaries that are only read, or those that were written; one that becomes an output stays.
    diopiError_t release_all(bool written) {
        for (Converted& each : converted_) {
            if (each.written == written && !created_.has(each.temporary)) {
                DIOPIGEN_ADAPTOR_TRY(release_one(site(each.parameter), each.temporary));
                DIOPIGEN_ADAPTOR_TRY(release_one(site(each.parameter), each.backup));
            }
        }
        return diopiSuccess;
    }

    const Helpers& helpers_;
    const diopiContextHandle_t ctx_;
    const char* const function_;
    diopiError_t status_ = diopiSuccess;
    ConvertedList converted_;
    Extents extents_;
    Buffer<diopiTensorHandle_t, kInlineTensors> handles_;
    CreatedTensors created_;
};

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_CALL_H_
