// Nanoseconds of a call: `main VENDOR DISPATCH` prints the direct one and the one through the dispatch library, with
// tensors that a host has made. DIOPI_VALIDATE is what the environment says.
#include <diopi/functions.h>
#include <diopigen/host.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using Add = decltype(&diopiAdd);

static void* opened(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    return library;
}

template <typename Type>
static Type symbol(void* library, const char* name) {
    return reinterpret_cast<Type>(dlsym(library, name));
}

struct Call {
    diopiContextHandle_t ctx = nullptr;
    diopiTensorHandle_t tensors[3] = {};
    diopiScalar_t alpha{};

    diopiError_t operator()(Add add) const { return add(ctx, tensors[0], tensors[1], tensors[2], &alpha); }
};

static double nanoseconds(const Call& call, Add add) {
    constexpr int kCalls = 200000;
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kCalls; ++i) {
            call(add);
        }
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
        best = std::min(best, time.count() / kCalls);
    }
    return best;
}

int main(int count, char** arguments) {
    if (count != 3) {
        return 2;
    }
    const Add direct = symbol<Add>(opened(arguments[1]), "diopiAdd");
    void* const library = opened(arguments[2]);
    const Add dispatched = symbol<Add>(library, "diopiAdd");
    // The dispatch library of this benchmark contains the runtime.
    const auto context = symbol<decltype(&diopiHostCreateContext)>(library, "diopiHostCreateContext");
    const auto create = symbol<decltype(&diopiHostCreateTensor)>(library, "diopiHostCreateTensor");
    if (direct == nullptr || dispatched == nullptr || context == nullptr || create == nullptr) {
        return 1;
    }
    Call call;
    call.alpha.stype = diopi_dtype_float64;
    call.alpha.fval = 1.0;
    if (context(&call.ctx) != diopiSuccess) {
        return 1;
    }
    const int64_t sizes[] = {4, 5};
    const diopiSize_t shape{sizes, 2};
    for (diopiTensorHandle_t& tensor : call.tensors) {
        if (create(call.ctx, &tensor, &shape, nullptr, 0, diopi_dtype_float32, diopi_host) != diopiSuccess) {
            return 1;
        }
    }
    if (call(dispatched) != diopiSuccess) {
        return 1;
    }
    std::printf("%.3f %.3f\n", nanoseconds(call, direct), nanoseconds(call, dispatched));
    return 0;
}
