// What a host calls besides operators: open a library, bind functions to it, tensors and generators, waiting.
#include <diopigen/host.h>
#include <dlfcn.h>

#include <string>

#include "failure.h"
#include "library.h"
#include "memory.h"
#include "packed_functions.h"
#include "session.h"
#include "tensors_out.h"
#include "values.h"

namespace ffi = diopigen::ffi;

namespace {

void require_count(int32_t given, int32_t expected) {
    if (given != expected) {
        throw ffi::Failure{"TypeError",
                           std::to_string(expected) + " arguments are expected, not " + std::to_string(given)};
    }
}

void* pointer_of(const TVMFFIAny& value, const char* name) {
    if (value.type_index != kTVMFFIOpaquePtr && value.type_index != kTVMFFINone) {
        ffi::Argument{&value, name}.reject("an opaque pointer");
    }
    return value.type_index == kTVMFFINone ? nullptr : value.v_ptr;
}

TVMFFIAny as_pointer(void* pointer) {
    TVMFFIAny any{};
    any.type_index = kTVMFFIOpaquePtr;
    any.v_ptr = pointer;
    return any;
}

}  // namespace

extern "C" {

/// diopi_open(path, device_type, initialise) -> the library.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_open(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_open", [&] {
        require_count(count, 3);
        const ffi::Text path({args, "path"});
        const char* const name = path;
        if (name == nullptr) {
            throw ffi::Failure{"TypeError", "parameter 'path': a text is expected"};
        }
        const auto device_type = ffi::number_of<int32_t>({args + 1, "device_type"});
        const bool initialise = ffi::Argument{args + 2, "initialise"}.boolean();
        *result = as_pointer(&ffi::Library::open(name, device_type, initialise));
    });
}

/// diopi_function(library, name) -> the packed function of an operator, bound to the library.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_function(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_function", [&] {
        require_count(count, 2);
        void* const library = pointer_of(args[0], "library");
        const ffi::Text name({args + 1, "name"});
        const TVMFFISafeCallType function = ffi::safe_call_of(name);
        if (function == nullptr) {
            throw ffi::Failure{"AttributeError",
                               std::string("there is no operator '") + static_cast<const char*>(name) + "'"};
        }
        TVMFFIObjectHandle object = nullptr;
        if (TVMFFIFunctionCreate(library, function, nullptr, &object) != 0) {
            throw ffi::Failure{"RuntimeError", "tvm-ffi makes no function"};
        }
        result->type_index = kTVMFFIFunction;
        result->v_obj = static_cast<TVMFFIObject*>(object);
    });
}

/// diopi_has(library, name) -> whether the library has the operator.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_has(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_has", [&] {
        require_count(count, 2);
        ffi::Library& library = ffi::Library::of(pointer_of(args[0], "library"));
        const ffi::Text name({args + 1, "name"});
        ffi::Function function{};
        result->type_index = kTVMFFIBool;
        result->v_int64 = ffi::find(name, &function) && library.find(function) != nullptr ? 1 : 0;
    });
}

/// diopi_device_type(library) -> what DLPack calls the memory of its device.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_device_type(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_device_type", [&] {
        require_count(count, 1);
        result->type_index = kTVMFFIInt;
        result->v_int64 = ffi::Library::of(pointer_of(args[0], "library")).device_type();
    });
}

/// diopi_device_id(library) -> the number of its device among those of that type.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_device_id(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_device_id", [&] {
        require_count(count, 1);
        result->type_index = kTVMFFIInt;
        result->v_int64 = ffi::Library::of(pointer_of(args[0], "library")).device_id();
    });
}

/// diopi_empty(library, shape, dtype) -> a new tensor in the memory of the library's device.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_empty(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_empty", [&] {
        require_count(count, 3);
        ffi::Library& library = ffi::Library::of(pointer_of(args[0], "library"));
        const ffi::Sizes shape({args + 1, "shape"});
        const ffi::Argument dtype{args + 2, "dtype"};
        if (dtype.value->type_index != kTVMFFIDataType) {
            dtype.reject("a dtype");
        }
        const diopiDtype_t code = ffi::dtype_of(dtype.value->v_dtype);
        if (code == diopi_dtype_unsupported) {
            dtype.fail("TypeError", "the interface has no such dtype");
        }
        *result = ffi::allocated(ffi::LibrarySession::current(library), shape, code);
    });
}

/// diopi_synchronize(library): waits for the work of the calling thread; its late failures are raised here.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_synchronize(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny*) {
    return ffi::guarded("diopi_synchronize", [&] {
        require_count(count, 1);
        ffi::Library& library = ffi::Library::of(pointer_of(args[0], "library"));
        ffi::require(diopiHostSynchronize(ffi::LibrarySession::current(library).context()),
                     "work on the stream failed");
    });
}

/// diopi_generator(seed, offset) -> a random generator, which diopi_end_generator ends.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_generator(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_generator", [&] {
        require_count(count, 2);
        const auto seed = static_cast<uint64_t>(ffi::Argument{args, "seed"}.integer());
        const auto offset = static_cast<uint64_t>(ffi::Argument{args + 1, "offset"}.integer());
        diopiGeneratorHandle_t generator = nullptr;
        ffi::require(diopiHostCreateGenerator(&generator, seed, offset), "no generator");
        *result = as_pointer(generator);
    });
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_end_generator(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny*) {
    return ffi::guarded("diopi_end_generator", [&] {
        require_count(count, 1);
        void* const generator = pointer_of(args[0], "generator");
        ffi::require(diopiHostDestroyGenerator(static_cast<diopiGeneratorHandle_t>(generator)), "no generator");
    });
}

/// diopi_allocate(library, bytes) -> memory of the library's device, which diopi_free frees.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_allocate(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_allocate", [&] {
        require_count(count, 2);
        ffi::Library& library = ffi::Library::of(pointer_of(args[0], "library"));
        *result = as_pointer(
            ffi::allocate(ffi::LibrarySession::current(library), ffi::Argument{args + 1, "bytes"}.integer()));
    });
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_free(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny*) {
    return ffi::guarded("diopi_free", [&] {
        require_count(count, 1);
        ffi::release(pointer_of(args[0], "memory"));
    });
}

/// diopi_copy(library, to, to_device, from, from_device, bytes): copies behind the work of the calling thread, and
/// returns when it is done. The flags say which side is memory of the library's device.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_copy(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny*) {
    return ffi::guarded("diopi_copy", [&] {
        require_count(count, 6);
        ffi::Library& library = ffi::Library::of(pointer_of(args[0], "library"));
        const ffi::Range to{pointer_of(args[1], "to"), ffi::Argument{args + 2, "to_device"}.boolean()};
        const ffi::Range from{pointer_of(args[3], "from"), ffi::Argument{args + 4, "from_device"}.boolean()};
        ffi::copy(ffi::LibrarySession::current(library), to, from, ffi::Argument{args + 5, "bytes"}.integer());
    });
}

/// diopi_functions() -> the names of all operators, a line each.
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopi_functions(void*, const TVMFFIAny*, int32_t count, TVMFFIAny* result) {
    return ffi::guarded("diopi_functions", [&] {
        require_count(count, 0);
        std::string names;
        for (size_t k = 0; k < ffi::function_count; ++k) {
            names += (k == 0 ? "" : "\n");
            names += ffi::name_of(static_cast<ffi::Function>(k));
        }
        const TVMFFIByteArray bytes{names.data(), names.size()};
        if (TVMFFIStringFromByteArray(&bytes, result) != 0) {
            throw ffi::Failure{"RuntimeError", "tvm-ffi makes no text"};
        }
    });
}

}  // extern "C"
