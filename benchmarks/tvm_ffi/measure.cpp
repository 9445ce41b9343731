// diopiAdd of three tensors of 4 elements, called as C function and as packed function in turn. The library of the
// operator does nothing, so that the calls are all that is measured.
#include <diopi/functions.h>
#include <diopigen/host.h>
#include <dlfcn.h>
#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int calls = 20000;
constexpr int rounds = 41;

template <class Body>
double nanoseconds(const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) {
        body(k);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "%s: %s\n", what, dlerror());
        std::exit(1);
    }
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int, char** argv) {
    void* const vendor = dlopen(argv[1], RTLD_NOW);
    void* const packed = dlopen(argv[2], RTLD_NOW);
    require(vendor != nullptr && packed != nullptr, "the libraries do not load");
    const auto function = reinterpret_cast<decltype(&diopiAdd)>(dlsym(vendor, "diopiAdd"));
    const auto open = reinterpret_cast<TVMFFISafeCallType>(dlsym(packed, "__tvm_ffi_diopi_open"));
    const auto add = reinterpret_cast<TVMFFISafeCallType>(dlsym(packed, "__tvm_ffi_diopiAdd"));
    require(function != nullptr && open != nullptr && add != nullptr, "a function is missing");
    TVMFFIAny opening[3] = {};
    opening[0].type_index = kTVMFFIRawStr;
    opening[0].v_c_str = argv[1];
    opening[1].type_index = kTVMFFIInt;
    opening[2].type_index = kTVMFFIBool;
    TVMFFIAny library{};
    require(open(nullptr, opening, 3, &library) == 0, "diopi_open");

    // More sets of tensors than handles are cached for: of one shape, and each of another one. The library does not
    // read them.
    constexpr int sets = 4096;
    int64_t shape[] = {4};
    std::vector<int64_t> shapes(sets);
    std::vector<float> memory(sets * 3 + sets);
    std::vector<DLTensor> tensors(sets * 3), varied(sets * 3);
    for (int k = 0; k < sets * 3; ++k) {
        shapes[k / 3] = 1 + k / 3;
        tensors[k] = {&memory[k], {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
        varied[k] = {&memory[k], {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shapes[k / 3], nullptr, 0};
    }
    diopiContextHandle_t context = nullptr;
    diopiTensorHandle_t handles[3] = {};
    const diopiSize_t size{shape, 1};
    require(diopiHostCreateContext(&context) == diopiSuccess, "a context");
    for (auto& handle : handles) {
        diopiHostCreateTensor(context, &handle, &size, nullptr, 0, diopi_dtype_float32, diopi_host);
    }
    diopiScalar_t one{};
    one.stype = diopi_dtype_int64;
    one.ival = 1;

    const auto direct = [&](int) { function(context, handles[0], handles[1], handles[2], &one); };
    const auto call = [&](std::vector<DLTensor>& tensors, int set) {
        TVMFFIAny args[4] = {};
        for (int k = 0; k < 3; ++k) {
            args[k == 2 ? 3 : k].type_index = kTVMFFIDLTensorPtr;
            args[k == 2 ? 3 : k].v_ptr = &tensors[set * 3 + k];
        }
        args[2].type_index = kTVMFFIInt;
        args[2].v_int64 = 1;
        TVMFFIAny result{};
        require(add(library.v_ptr, args, 4, &result) == 0, "the call");
    };
    std::vector<double> first, second, third, fourth;
    for (int round = 0; round < rounds; ++round) {
        first.push_back(nanoseconds(direct));
        second.push_back(nanoseconds([&](int) { call(tensors, 0); }));
        third.push_back(nanoseconds([&](int k) { call(tensors, k % sets); }));
        fourth.push_back(nanoseconds([&](int k) { call(varied, k % sets); }));
    }
    std::printf("%.1f %.1f %.1f %.1f\n", median(first), median(second), median(third), median(fourth));
}
