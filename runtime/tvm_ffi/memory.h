// Memory of a library's device for those who lay out tensors in it themselves, such as TVM.
#ifndef DIOPIGEN_TVM_FFI_MEMORY_H_
#define DIOPIGEN_TVM_FFI_MEMORY_H_

#include <cstdint>

#include "session.h"

namespace diopigen::ffi {

/// Uninitialised memory, aligned to 64 bytes. Never null.
void* allocate(LibrarySession& session, int64_t bytes);

/// Frees what allocate() returned, from any thread.
void release(void* memory);

/// The start of a range, and whether it is memory of the device.
struct Range {
    void* start;
    bool on_device;
};

/// Copies behind the work that is on the session's stream, and returns when it is done.
void copy(LibrarySession& session, Range to, Range from, int64_t bytes);

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_MEMORY_H_
