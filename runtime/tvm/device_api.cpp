// A DeviceAPI of TVM for ext_dev over a library's device: memory, copies and waiting, through the functions
// `diopi.device.*` that diopi_ffi.tvm.register puts into the registry of tvm-ffi.
//
// The classes of TVM have no stable ABI: this library serves the version that it is built with, names it, and is loaded
// for no other (diopi_ffi/tvm/device.py).
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/device_api.h>

#include <cstdint>

extern "C" TVM_FFI_DLL_EXPORT const char diopi_built_for_tvm[] = "diopigen: built for TVM " TVM_VERSION ";";

namespace diopigen::tvm_device {
namespace {

namespace ffi = tvm::ffi;
using tvm::Device;
using tvm::runtime::DeviceAPI;
using tvm::runtime::DeviceAttrKind;

/// The functions of the library that is registered; another registration replaces them.
ffi::Function device(const char* name) { return ffi::Function::GetGlobalRequired(std::string("diopi.device.") + name); }

class Api final : public DeviceAPI {
  public:
    // Never destroyed: TVM frees its pools when the process ends.
    static Api* instance() {
        static auto* api = new Api;
        return api;
    }

    // There is one device.
    void SetDevice(Device) final {}

    void GetAttr(Device dev, DeviceAttrKind kind, ffi::Any* result) final {
        *result = dev.device_id == 0 ? device("attribute")(static_cast<int64_t>(kind)) : ffi::Any();
    }

    // Memory of the device is aligned for every dtype.
    void* AllocDataSpace(Device, size_t bytes, size_t, DLDataType) final {
        return device("allocate")(static_cast<int64_t>(bytes)).cast<void*>();
    }

    void FreeDataSpace(Device, void* memory) final { device("free")(memory); }

    void StreamSync(Device, TVMStreamHandle) final { device("synchronize")(); }

  protected:
    void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset, size_t bytes, Device dev_from,
                        Device dev_to, DLDataType, TVMStreamHandle) final {
        const auto* const source = static_cast<const char*>(from) + from_offset;
        auto* const target = static_cast<char*>(to) + to_offset;
        device("copy")(static_cast<void*>(target), dev_to.device_type == kDLExtDev,
                       static_cast<void*>(const_cast<char*>(source)), dev_from.device_type == kDLExtDev,
                       static_cast<int64_t>(bytes));
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
