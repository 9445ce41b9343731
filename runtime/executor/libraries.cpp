#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dladdr1, dlinfo
#endif
#include "libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>

namespace diopigen::executor {

namespace {

void* loaded(const std::string& path, int flags) {
    // A name without a folder is a file of the current one, and not of those that the loader searches.
    const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    void* const handle = dlopen(file.c_str(), flags);
    if (handle == nullptr) {
        const char* const reason = dlerror();
        throw Failed("library-unloadable", reason == nullptr ? path : reason);
    }
    return handle;
}

/// A function from an address that dlsym has found.
template <class T>
T function_at(void* address) {
    return reinterpret_cast<T>(address);
}

}  // namespace

Runtime::Runtime(const std::string& path) {
    void* const handle = loaded(path, RTLD_NOW | RTLD_GLOBAL);
    const auto found = [&](const char* name) {
        void* const address = dlsym(handle, name);
        if (address == nullptr) {
            throw Failed("runtime-incomplete", path + " has no " + name);
        }
        return address;
    };
#define DIOPIGEN_EXECUTOR_FIND(name) this->name = function_at<decltype(&::name)>(found(#name));
    DIOPIGEN_EXECUTOR_RUNTIME(DIOPIGEN_EXECUTOR_FIND)
#undef DIOPIGEN_EXECUTOR_FIND
}

void Runtime::require(diopiError_t status, const char* function) const {
    if (status == diopiSuccess) {
        return;
    }
    const char* text = "";
    diopiHostGetLastErrorText(&text);
    throw Failed("host", std::string(function) + " returns status " + std::to_string(status) + ": " + text);
}

Library::Library(const std::string& path) : handle_(loaded(path, RTLD_NOW | RTLD_LOCAL)) {
    const auto start = function_at<std::int32_t (*)()>(dlsym(handle_, "initLibrary"));
    if (start != nullptr && start() != 0) {
        const std::string said = text("diopiGetLastErrorString");
        throw Failed("library-init", "initLibrary of " + path + " failed" + (said.empty() ? "" : ": " + said));
    }
}

void* Library::find(const std::string& name, Presence* presence) const {
    void* const address = dlsym(handle_, name.c_str());
    *presence = Presence::kMissing;
    if (address != nullptr) {
        Dl_info info{};
        void* owner = nullptr;
        link_map* own = nullptr;
        const bool is_known = dladdr1(address, &info, &owner, RTLD_DL_LINKMAP) != 0 &&
                              dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&own)) == 0;
        *presence = is_known && owner == static_cast<void*>(own) ? Presence::kOwn : Presence::kForeign;
    }
    return *presence == Presence::kOwn ? address : nullptr;
}

std::string Library::text(const char* name) const {
    const auto function = function_at<const char* (*)()>(dlsym(handle_, name));
    const char* const found = function == nullptr ? nullptr : function();
    constexpr std::size_t kLongest = 1 << 16;
    return found == nullptr ? "" : std::string(found, strnlen(found, kLongest));
}

std::int32_t Library::finalize() const {
    const auto end = function_at<std::int32_t (*)()>(dlsym(handle_, "finalizeLibrary"));
    return end == nullptr ? 0 : end();
}

std::uint64_t unloaded_libraries() {
    std::uint64_t count = 0;
    const auto first = [](dl_phdr_info* object, std::size_t bytes, void* found) {
        if (bytes >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(object->dlpi_subs)) {
            *static_cast<std::uint64_t*>(found) = object->dlpi_subs;
        }
        return 1;
    };
    dl_iterate_phdr(first, &count);
    return count;
}

}  // namespace diopigen::executor

/// Leaves a library loaded, so that the suite can name it. Found before that of libc by all that is loaded here.
extern "C" int dlclose(void*) noexcept { return 0; }
