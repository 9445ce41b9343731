// The host runtime and the library under test.
#pragma once

#include <diopigen/host.h>

#include <string>
#include <vector>

#include "frames.h"

namespace diopigen::executor {

/// The functions of libdiopirt.so. Each throws `Failed` with the text of the runtime where it does not succeed.
class Runtime {
  public:
    explicit Runtime(const std::string& path);

#define DIOPIGEN_EXECUTOR_RUNTIME(X) \
    X(diopiHostCreateContext)        \
    X(diopiHostDestroyContext)       \
    X(diopiHostSynchronize)          \
    X(diopiHostGetTemporaryCount)    \
    X(diopiHostCreateTensor)         \
    X(diopiHostWrapMemory)           \
    X(diopiHostCreateView)           \
    X(diopiHostCreateSparseCsr)      \
    X(diopiHostDestroyTensor)        \
    X(diopiHostCopyToStorage)        \
    X(diopiHostCopyFromStorage)      \
    X(diopiHostCreateGenerator)      \
    X(diopiHostDestroyGenerator)     \
    X(diopiHostGetLastErrorText)     \
    X(diopiGetTensorShape)           \
    X(diopiGetTensorStride)          \
    X(diopiGetTensorDtype)           \
    X(diopiGetTensorStorageNbytes)   \
    X(diopiGetTensorStorageOffset)   \
    X(diopiGeneratorGetSeedAndOffset)
#define DIOPIGEN_EXECUTOR_DECLARE(name) decltype(&::name) name = nullptr;
    DIOPIGEN_EXECUTOR_RUNTIME(DIOPIGEN_EXECUTOR_DECLARE)
#undef DIOPIGEN_EXECUTOR_DECLARE

    void require(diopiError_t status, const char* function) const;
};

/// Whether a function is the library's own, of one that it needs, or nowhere.
enum class Presence : std::uint8_t { kMissing = 0, kOwn = 1, kForeign = 2 };

class Library {
  public:
    /// Calls initLibrary where the library has it.
    explicit Library(const std::string& path);

    void* find(const std::string& name, Presence* presence) const;
    /// Result of a function without parameters; empty where it is missing.
    std::string text(const char* name) const;
    /// Calls finalizeLibrary where there is one, and returns its status.
    std::int32_t finalize() const;

  private:
    void* handle_;
};

/// How many libraries have been unloaded in this process.
std::uint64_t unloaded_libraries();

}  // namespace diopigen::executor
