// What makes the library a vendor's library: its name, its latest error, and a device made of host memory.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host_device.h>

#include <string>

#include "diopi_core/error.h"
#include "diopi_cpu/capability.h"

#if defined(DIOPI_CPU_ONEDNN)
#include <dnnl.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace {

// The release, and what of this build and machine the results and speed depend on.
std::string version() {
    std::string text = "1.0.0 (";
    text += diopigen::cpu::capability_name(diopigen::cpu::capability());
#if defined(DIOPI_CPU_ONEDNN)
    const dnnl_version_t* const products = dnnl_version();
    text += ", oneDNN " + std::to_string(products->major) + "." + std::to_string(products->minor);
#endif
    text += ", " DIOPI_CPU_VECTOR_MATH_LIBRARY;
#if defined(__GLIBC__)
    text += std::string(", glibc ") + gnu_get_libc_version();
#endif
#if defined(DIOPI_CPU_HIGHWAY)
    text += ", Highway";
#else
    text += ", radix sort";
#endif
    return text + ")";
}

}  // namespace

DIOPI_API const char* diopiGetVendorName(void) { return "cpu"; }
DIOPI_API const char* diopiGetImplVersion(void) {
    static const std::string text = version();
    return text.c_str();
}
DIOPI_API const char* diopiGetLastErrorString(void) { return diopigen::core::last_error_text(); }

void diopigen::core::begin_call(const char*, diopiContextHandle_t) {}

int32_t initLibrary(void) {
    diopigen::cpu::report_capability();
    return diopigenRegisterHostDevice();
}
int32_t finalizeLibrary(void) { return 0; }
