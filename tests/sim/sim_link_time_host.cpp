// A host of the form that has no registration: it opens a vendor's library and looks its device functions up by name.
#include <diopi/diopirt.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void* state = nullptr;
diopiStreamHandle_t stateStream = nullptr;

void check(bool holds, const char* what) {
    if (!holds) {
        std::printf("%s\n", what);
        std::exit(1);
    }
}

template <typename Function>
Function* find(void* library, const char* name) {
    auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
    check(found != nullptr, name);
    return found;
}

}  // namespace

// What buildGeneratorState asks of its host.
extern "C" diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t, int64_t* numel) {
    *numel = 16;
    return diopiSuccess;
}
extern "C" diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t, int64_t* size) {
    *size = 1;
    return diopiSuccess;
}
extern "C" diopiError_t diopiGetTensorData(diopiTensorHandle_t, void** data) {
    *data = state;
    return diopiSuccess;
}
extern "C" diopiError_t diopiGetStream(diopiContextHandle_t, diopiStreamHandle_t* stream) {
    *stream = stateStream;
    return diopiSuccess;
}

int main(int count, char** arguments) {
    void* const library = dlopen(arguments[1], RTLD_NOW);
    check(library != nullptr, "the library cannot be loaded");
    using Copy = int32_t(diopiStreamHandle_t, void*, const void*, uint64_t);
    auto* const allocate = find<void*(uint64_t)>(library, "device_malloc");
    auto* const release = find<void(void*)>(library, "device_free");
    auto* const synchronize = find<int32_t(diopiStreamHandle_t)>(library, "device_synchronize_stream");
    auto* const toHost = find<Copy>(library, "device_memcpy_d2h_async");
    check(find<int32_t()>(library, "initLibrary")() == 0, "initLibrary fails without a registration");
    check(find<int32_t(diopiStreamHandle_t*)>(library, "device_make_stream")(&stateStream) == 0, "no stream");
    check(allocate(~uint64_t{0}) == nullptr, "more than there is gives an address");

    char back[16] = "";
    void* const first = allocate(6);
    void* const second = allocate(6);
    int32_t status = find<Copy>(library, "device_memcpy_h2d_async")(stateStream, first, "hello", 6);
    status += find<Copy>(library, "device_memcpy_d2d_async")(stateStream, second, first, 6);
    status += toHost(stateStream, back, second, 6);
    status += synchronize(stateStream);
    check(status == 0 && std::strcmp(back, "hello") == 0, "the copies changed the bytes");
    release(first);
    release(second);

    state = allocate(16);
    auto* const build = find<int32_t(diopiContextHandle_t, diopiTensorHandle_t)>(library, "buildGeneratorState");
    check(build(nullptr, nullptr) == 0, "no state of a generator");
    check(toHost(stateStream, back, state, 16) == 0 && synchronize(stateStream) == 0, "the state cannot be read");
    const char zeros[16] = {};
    check(std::memcmp(back, zeros, 16) == 0, "the state is not that of a fresh generator");
    release(state);
    check(find<int32_t(diopiStreamHandle_t)>(library, "device_destroy_stream")(stateStream) == 0, "the stream stays");
    check(find<int32_t()>(library, "finalizeLibrary")() == 0, "finalizeLibrary fails");
    std::printf("as wanted\n");
    if (count > 2) {  // the handler of faults outlives the library
        std::fflush(stdout);
        check(dlclose(library) == 0, "the library cannot be closed");
        return *static_cast<volatile char*>(first);
    }
    return 0;
}
