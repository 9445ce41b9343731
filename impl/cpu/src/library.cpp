// What makes the library a vendor's library: its name, its latest error, and a device made of host memory.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host_device.h>

#include <string>

#include "diopi_cpu/capability.h"
#include "diopi_cpu/error.h"

namespace {

// The release, and what of this build and machine the results and speed depend on.
std::string version() {
    std::string text = "1.0.0 (";
    text += diopi::cpu::capability_name(diopi::cpu::capability());
#if defined(DIOPI_CPU_ONEDNN)
    text += ", oneDNN";
#endif
#if defined(DIOPI_CPU_SLEEF)
    text += ", SLEEF";
#endif
#if defined(DIOPI_CPU_HIGHWAY)
    text += ", Highway";
#endif
    return text + ")";
}

}  // namespace

DIOPI_API const char* diopiGetVendorName(void) { return "cpu"; }
DIOPI_API const char* diopiGetImplVersion(void) {
    static const std::string text = version();
    return text.c_str();
}
DIOPI_API const char* diopiGetLastErrorString(void) { return diopi::cpu::last_error_text(); }

void diopi::cpu::begin_call(const char*, diopiContextHandle_t) {}

int32_t initLibrary(void) {
    diopi::cpu::report_capability();
    return diopigenRegisterHostDevice();
}
int32_t finalizeLibrary(void) { return 0; }
