// A DeviceAPI of TVM for ext_dev over a library's device: memory, copies and waiting, through the functions
// `diopi.device.NUMBER.*` that diopi_ffi.device.register puts into the registry of tvm-ffi.
//
// The classes of TVM have no stable ABI: this library serves the version that it is built with, names it, and is loaded
// for no other (diopi_ffi/device.py).
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/device_api.h>

#include <cstdint>
#include <string>

extern "C" TVM_FFI_DLL_EXPORT const char diopi_built_for_tvm[] = "diopigen: built for TVM " TVM_VERSION ";";

namespace diopigen::tvm_device {
namespace {

namespace ffi = tvm::ffi;
using tvm::Device;
using tvm::runtime::DeviceAPI;
using tvm::runtime::DeviceAttrKind;

/// A function of the library that is registered for a device; another registration replaces it.
ffi::Function function(const char* name, int id) {
    return ffi::Function::GetGlobalRequired("diopi.device." + std::to_string(id) + "." + name);
}

class Api final : public DeviceAPI {
  public:
    // Never destroyed: TVM frees its pools when the process ends.
    static Api* instance() {
        static auto* api = new Api;
        return api;
    }

    // Calls say which device they mean.
    void SetDevice(Device) final {}

    void GetAttr(Device dev, DeviceAttrKind kind, ffi::Any* result) final {
        const auto name = "diopi.device." + std::to_string(dev.device_id) + ".attribute";
        const auto attribute = ffi::Function::GetGlobal(name);
        *result = attribute.has_value() ? (*attribute)(static_cast<int64_t>(kind)) : ffi::Any();
    }

    // Memory of the device is aligned for every dtype.
    void* AllocDataSpace(Device dev, size_t bytes, size_t, DLDataType) final {
        return function("allocate", dev.device_id)(static_cast<int64_t>(bytes)).cast<void*>();
    }

    void FreeDataSpace(Device dev, void* memory) final { function("free", dev.device_id)(memory); }

    void StreamSync(Device dev, TVMStreamHandle) final { function("synchronize", dev.device_id)(); }

  protected:
    void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset, size_t bytes, Device dev_from,
                        Device dev_to, DLDataType, TVMStreamHandle) final {
        const auto* const source = static_cast<const char*>(from) + from_offset;
        auto* const target = static_cast<char*>(to) + to_offset;
        const Device dev = dev_to.device_type == kDLExtDev ? dev_to : dev_from;
        function("copy", dev.device_id)(static_cast<void*>(target), dev_to.device_type == kDLExtDev,
                                        static_cast<void*>(const_cast<char*>(source)),
                                        dev_from.device_type == kDLExtDev, static_cast<int64_t>(bytes));
    }
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
    tvm::ffi::reflection::GlobalDef().def_packed("device_api.ext_dev", [](ffi::PackedArgs, ffi::Any* result) {
        DeviceAPI* api = Api::instance();
        *result = static_cast<void*>(api);
    });
}

}  // namespace diopigen::tvm_device
