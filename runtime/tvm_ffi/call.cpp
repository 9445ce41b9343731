#include "call.h"

#include <diopigen/host.h>

#include <string>

#include "tensors_out.h"

namespace diopigen::ffi {
namespace {

const DLTensor* dl_tensor(const TVMFFIAny& value) {
    if (value.type_index == kTVMFFIDLTensorPtr) {
        return static_cast<const DLTensor*>(value.v_ptr);
    }
    if (value.type_index == kTVMFFITensor) {
        return reinterpret_cast<const DLTensor*>(reinterpret_cast<const char*>(value.v_obj) + sizeof(TVMFFIObject));
    }
    return nullptr;
}

}  // namespace

Call::Call(Function function, void* self, const TVMFFIAny* values, int32_t given, int32_t expected, TVMFFIAny* result)
    : values_(values), result_(result), session_(LibrarySession::current(Library::of(self))) {
    if (given != expected) {
        throw Failure{"TypeError", std::to_string(expected) + " arguments are expected, not " + std::to_string(given)};
    }
    pointer_ = session_.library().find(function);
    if (pointer_ == nullptr) {
        throw Failure{"NotImplementedError", "the library does not have this function"};
    }
    session_.clear_discarded();
}

Call::~Call() {
    for (size_t k = 0; k < used_count_; ++k) {
        used_[k]->in_use = false;
    }
    for (Wrapped* entry : more_used_) {
        entry->in_use = false;
    }
    for (diopiTensorHandle_t handle : own_) {
        diopiHostDestroyTensor(handle);
    }
    for (TVMFFIAny& value : results_) {  // left where something failed after the operator
        if (value.type_index >= kTVMFFIStaticObjectBegin) {
            TVMFFIObjectDecRef(value.v_obj);
        }
    }
    // Scratch memory of the operator; freeing it waits for the stream, and there is nothing to wait for without.
    diopiHostReleaseTemporaries(session_.context());
}

diopiTensorHandle_t Call::tensor(const Argument& argument) {
    if (argument.is_none()) {
        return nullptr;
    }
    if (argument.value->type_index == kTVMFFIOpaquePtr) {
        return static_cast<diopiTensorHandle_t>(argument.value->v_ptr);
    }
    const DLTensor* const tensor = dl_tensor(*argument.value);
    if (tensor == nullptr) {
        argument.reject("a tensor");
    }
    try {
        Wrapped* const entry = session_.cached(*tensor);
        if (entry == nullptr) {
            own_.push_back(session_.wrap(*tensor));
            return own_.back();
        }
        if (!entry->in_use) {
            if (used_count_ < kFew) {
                used_[used_count_++] = entry;
            } else {
                more_used_.push_back(entry);
            }
            entry->in_use = true;
        }
        return entry->handle;
    } catch (const Failure& failure) {
        argument.fail(failure.kind, failure.text);
    }
}

Tensors Call::tensors(int32_t index, const char* name) {
    Tensors handles;
    const Argument all = argument(index, name);
    if (all.is_none()) {
        handles.leave_out();
        return handles;
    }
    const List list = List::of(all, "a list of tensors");
    for (int64_t k = 0; k < list.size; ++k) {
        handles.push_back(tensor(Argument{list.data + k, name}));
    }
    return handles;
}

void* Call::opaque(int32_t index, const char* name) const {
    const Argument value = argument(index, name);
    if (value.is_none()) {
        return nullptr;
    }
    if (value.value->type_index != kTVMFFIOpaquePtr) {
        value.reject("an opaque pointer");
    }
    return value.value->v_ptr;
}

Generators Call::generators(int32_t index, const char* name) const {
    Generators handles;
    const Argument all = argument(index, name);
    if (all.is_none()) {
        handles.leave_out();
        return handles;
    }
    const List list = List::of(all, "a list of generators");
    for (int64_t k = 0; k < list.size; ++k) {
        const Argument one{list.data + k, name};
        if (one.value->type_index != kTVMFFIOpaquePtr) {
            one.reject("a generator");
        }
        handles.push_back(static_cast<diopiGeneratorHandle_t>(one.value->v_ptr));
    }
    return handles;
}

bool Call::is_wanted(int32_t index, const char* name) const {
    const Argument value = argument(index, name);
    return !value.is_none() && value.boolean();
}

void Call::fail_entries(int64_t given, int64_t count, const char* name) const {
    throw Failure{"ValueError", std::string("parameter '") + name + "': " + std::to_string(count) +
                                    " entries are expected, not " + std::to_string(given)};
}

void Call::check(diopiError_t status) const {
    if (status == diopiSuccess) {
        return;
    }
    const char* const text = session_.library().last_error();
    const bool is_missing = status == diopiNoImplement || status == diopiForceFallbackToCPU;
    throw Failure{is_missing ? "NotImplementedError" : "RuntimeError", status_name(status) + ": " + text};
}

void Call::returns(diopiTensorHandle_t tensor) { results_.push_back(exported(session_, tensor)); }

void Call::returns(const Tensors& tensors) {
    std::vector<TVMFFIAny> members;
    for (int64_t k = 0; k < tensors.size(); ++k) {
        members.push_back(exported(session_, tensors[k]));
    }
    results_.push_back(listed(members));
}

void Call::returns(int64_t value) {
    TVMFFIAny any{};
    any.type_index = kTVMFFIInt;
    any.v_int64 = value;
    results_.push_back(any);
}

void Call::returns(double value) {
    TVMFFIAny any{};
    any.type_index = kTVMFFIFloat;
    any.v_float64 = value;
    results_.push_back(any);
}

void Call::returns(bool value) {
    TVMFFIAny any{};
    any.type_index = kTVMFFIBool;
    any.v_int64 = value ? 1 : 0;
    results_.push_back(any);
}

void Call::finish() {
    if (results_.size() == 1) {
        *result_ = results_.front();
        results_.clear();
    } else if (results_.size() > 1) {
        *result_ = listed(results_);
    }
}

}  // namespace diopigen::ffi
