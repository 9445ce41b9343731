#pragma once
#include <diopi/diopirt.h>
namespace impl {
namespace droplet {
void setLastError(const char* format, ...) __attribute__((format(printf, 1, 2)));
const char* lastError();
}  // namespace droplet
}  // namespace impl
