// What makes the library a vendor's library: its name, its latest error, and the device functions.
#include <diopi/functions.h>
#include <diopigen/device.h>

#include "diopi_cuda/device.h"

DIOPI_API const char* diopiGetVendorName(void) { return "cuda"; }
DIOPI_API const char* diopiGetImplVersion(void) { return "1.0.0"; }
DIOPI_API const char* diopiGetLastErrorString(void) { return diopigen::core::last_error_text(); }

int32_t initLibrary(void) { return diopigen::cuda::register_device(); }
int32_t finalizeLibrary(void) { return 0; }
