// A host of the form that has no registration: it looks up the device functions by name. Prints the number of checks.
#include <diopi/diopirt.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

unsigned char state[16];
int checks = 0;

void check(bool holds, const char* what) {
    ++checks;
    if (!holds) {
        std::fprintf(stderr, "%s\n", what);
        std::exit(1);
    }
}

template <typename Function>
Function* find(void* library, const char* name) {
    auto* found = reinterpret_cast<Function*>(dlsym(library, name));
    if (found == nullptr) {
        std::fprintf(stderr, "%s is missing\n", name);
        std::exit(1);
    }
    return found;
}

}  // namespace

// What buildGeneratorState asks of its host.
extern "C" diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t, int64_t* numel) {
    *numel = sizeof(state);
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
    *stream = nullptr;
    return diopiSuccess;
}
// What shims ask of every host when they are loaded: their calls have no jump in between that could be bound later.
extern "C" diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t, diopiDtype_t*) { return diopiErrorOccurred; }
extern "C" diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t, diopiSize_t*) { return diopiErrorOccurred; }
extern "C" diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t, diopiSize_t*) { return diopiErrorOccurred; }

int main(int, char** arguments) {
    // Lazily: the library may use more of the runtime than this host has.
    void* library = dlopen(arguments[1], RTLD_LAZY);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    using Copy = int32_t(diopiStreamHandle_t, void*, const void*, uint64_t);
    check(find<int32_t()>(library, "initLibrary")() == 0, "initLibrary fails without a registration");
    diopiStreamHandle_t stream = nullptr;
    check(find<int32_t(diopiStreamHandle_t*)>(library, "device_make_stream")(&stream) == 0, "no stream");
    auto* allocate = find<void*(uint64_t)>(library, "device_malloc");
    auto* release = find<void(void*)>(library, "device_free");
    void* nothing = allocate(0);
    check(nothing != nullptr, "no bytes give no address");
    release(nothing);
    check(allocate(~uint64_t{0}) == nullptr, "more than there is gives an address");
    const char* said = find<const char*()>(library, "device_get_last_error_string")();
    check(std::strcmp(said, "out of device memory: 18446744073709551615 bytes asked for") == 0, said);

    char back[6] = "";
    void* first = allocate(6);
    void* second = allocate(6);
    int32_t status = find<Copy>(library, "device_memcpy_h2d_async")(stream, first, "hello", 6);
    status += find<Copy>(library, "device_memcpy_d2d_async")(stream, second, first, 6);
    status += find<Copy>(library, "device_memcpy_d2h_async")(stream, back, second, 6);
    check(status == 0 && std::strcmp(back, "hello") == 0, "the copies changed the bytes");
    release(first);
    release(second);

    std::memset(state, 7, sizeof(state));
    auto* build = find<int32_t(diopiContextHandle_t, diopiTensorHandle_t)>(library, "buildGeneratorState");
    check(build(nullptr, nullptr) == 0, "no state of a generator");
    const unsigned char zeros[sizeof(state)] = {};
    check(std::memcmp(state, zeros, sizeof(state)) == 0, "the state is not that of a fresh generator");
    check(find<int32_t(diopiStreamHandle_t)>(library, "device_destroy_stream")(stream) == 0, "the stream stays");
    check(find<int32_t()>(library, "finalizeLibrary")() == 0, "finalizeLibrary fails");
    find<int32_t(diopiStreamHandle_t)>(library, "device_synchronize_stream");
    std::printf("%d checks\n", checks);
    return 0;
}
