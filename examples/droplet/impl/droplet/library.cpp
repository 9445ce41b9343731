#include <diopi/functions.h>

#include <cstdarg>
#include <cstdio>

#include "droplet/error.h"
namespace impl {
namespace droplet {
namespace {
thread_local char lastMessage[512] = "";
}
void setLastError(const char* format, ...) {
    va_list a;
    va_start(a, format);
    std::vsnprintf(lastMessage, sizeof(lastMessage), format, a);
    va_end(a);
}
const char* lastError() { return lastMessage; }
const char* diopiGetVendorName() { return "droplet"; }
const char* diopiGetImplVersion() { return "0.1.0"; }
const char* diopiGetLastErrorString() { return lastError(); }
}  // namespace droplet
}  // namespace impl
extern "C" const char* diopiGetVendorName() { return "droplet"; }
extern "C" const char* diopiGetImplVersion() { return "0.1.0"; }
