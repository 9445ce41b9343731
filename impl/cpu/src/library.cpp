// What makes the library a vendor's library: its name, its latest error, and a device made of host memory.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host_device.h>

#include "diopi_cpu/error.h"

DIOPI_API const char* diopiGetVendorName(void) { return "cpu"; }
DIOPI_API const char* diopiGetImplVersion(void) { return "1.0.0"; }
DIOPI_API const char* diopiGetLastErrorString(void) { return diopi::cpu::last_error_text(); }

void diopi::cpu::begin_call(const char*, diopiContextHandle_t) {}

int32_t initLibrary(void) { return diopigenRegisterHostDevice(); }
int32_t finalizeLibrary(void) { return 0; }
