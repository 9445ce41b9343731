// Nanoseconds of a call: `main VENDOR DISPATCH` prints the direct one and the one through the dispatch library.
#include <diopi/functions.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using Add = decltype(&diopiAdd);

static Add loaded(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return nullptr;
    }
    return reinterpret_cast<Add>(dlsym(library, "diopiAdd"));
}

static double nanoseconds(Add add) {
    constexpr int kCalls = 1000000;
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kCalls; ++i) {
            add(nullptr, nullptr, nullptr, nullptr, nullptr);
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
    const Add direct = loaded(arguments[1]);
    const Add dispatched = loaded(arguments[2]);
    if (direct == nullptr || dispatched == nullptr || dispatched(nullptr, nullptr, nullptr, nullptr, nullptr) != 0) {
        return 1;
    }
    std::printf("%.3f %.3f\n", nanoseconds(direct), nanoseconds(dispatched));
    return 0;
}
