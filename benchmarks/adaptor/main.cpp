// Measures calls through shims and direct calls of the same operators, in one run, on one core.
//
// Output: one line per measurement, `name nanoseconds allocations temporaries`. The rounds of all measurements take
// turns and the fastest round of each counts, so that a disturbance hits all alike.
#include <diopi/functions.h>
#include <diopigen/host.h>
#include <diopigen/host_device.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace impl {
namespace bench {
diopiError_t diopiAdd(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                      const diopiScalar_t*);
diopiError_t diopiCat(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t*, int64_t, int64_t);
diopiError_t diopiAdam(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiTensorHandle_t,
                       diopiTensorHandle_t, diopiTensorHandle_t, float, float, float, float, float, int64_t, bool);
}  // namespace bench
}  // namespace impl

namespace {

std::int64_t allocations = 0;
diopiContextHandle_t ctx = nullptr;

void check(diopiError_t status) {
    if (status != diopiSuccess) {
        std::printf("failed with status %d: %s\n", static_cast<int>(status), diopiGetLastErrorString());
        std::exit(1);
    }
}

diopiTensorHandle_t tensor(std::vector<std::int64_t> size, diopiDtype_t dtype) {
    const diopiSize_t sizes{size.data(), static_cast<std::int64_t>(size.size())};
    diopiTensorHandle_t created = nullptr;
    check(diopiHostCreateTensor(ctx, &created, &sizes, nullptr, 0, dtype, diopi_device));
    return created;
}

struct Measurement {
    std::string name;
    std::int64_t temporaries;
    std::int64_t callsPerRound;
    std::function<void(std::int64_t)> round;
    double nanoseconds = std::numeric_limits<double>::infinity();
    double allocations = 0;
};

void measure(std::vector<Measurement>& all, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        for (Measurement& each : all) {
            const std::int64_t before = allocations;
            const auto start = std::chrono::steady_clock::now();
            each.round(each.callsPerRound);
            const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
            const double nanoseconds = taken.count() / static_cast<double>(each.callsPerRound);
            each.nanoseconds = nanoseconds < each.nanoseconds ? nanoseconds : each.nanoseconds;
            each.allocations = static_cast<double>(allocations - before) / static_cast<double>(each.callsPerRound);
        }
    }
}

template <class Call>
std::function<void(std::int64_t)> repeat(Call call) {
    return [call](std::int64_t calls) {
        for (std::int64_t i = 0; i < calls; ++i) {
            call();
        }
    };
}

}  // namespace

// Counts every allocation of the process.
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* malloc(std::size_t bytes) {
    ++allocations;
    return __libc_malloc(bytes);
}

int main(int argumentCount, char** arguments) {
    const int rounds = argumentCount > 1 ? std::atoi(arguments[1]) : 400;
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &core);
    if (sched_setaffinity(0, sizeof(core), &core) != 0) {
        std::printf("cannot pin to one core\n");
        return 1;
    }
    diopigenRegisterHostDevice();
    check(diopiHostCreateContext(&ctx));

    const diopiScalar_t one = [] {
        diopiScalar_t scalar;
        scalar.stype = diopi_dtype_float64;
        scalar.fval = 1.0;
        return scalar;
    }();
    std::vector<Measurement> all;
    const auto add = [&](const std::string& name, std::int64_t temporaries, std::int64_t calls, auto call) {
        all.push_back(Measurement{name, temporaries, calls, repeat(call)});
    };

    const diopiTensorHandle_t a = tensor({2, 3, 4, 5}, diopi_dtype_float32);
    const diopiTensorHandle_t b = tensor({2, 3, 4, 5}, diopi_dtype_float32);
    const diopiTensorHandle_t c = tensor({2, 3, 4, 5}, diopi_dtype_float32);
    add("add.direct", 0, 2000, [=, &one] { check(impl::bench::diopiAdd(ctx, c, a, b, &one)); });
    add("add.pass", 0, 2000, [=, &one] { check(diopiAdd(ctx, c, a, b, &one)); });

    std::vector<diopiConstTensorHandle_t> many;
    for (int i = 0; i < 16; ++i) {
        many.push_back(tensor({2, 3, 4, 5}, diopi_dtype_float32));
    }
    diopiConstTensorHandle_t* const list = many.data();
    const diopiTensorHandle_t joined = tensor({32, 3, 4, 5}, diopi_dtype_float32);
    add("cat.direct", 0, 1000, [=] { check(impl::bench::diopiCat(ctx, joined, list, 16, 0)); });
    add("cat.pass", 0, 1000, [=] { check(diopiCat(ctx, joined, list, 16, 0)); });

    std::vector<diopiTensorHandle_t> state;
    for (int i = 0; i < 5; ++i) {
        state.push_back(tensor({2, 3, 4, 5}, diopi_dtype_float32));
    }
    const auto adam = [](auto function, const std::vector<diopiTensorHandle_t>& tensors) {
        const diopiTensorHandle_t p = tensors[0];
        const diopiTensorHandle_t g = tensors[1];
        const diopiTensorHandle_t m = tensors[2];
        const diopiTensorHandle_t v = tensors[3];
        const diopiTensorHandle_t x = tensors[4];
        return [=] { check(function(ctx, p, g, m, v, x, 1e-3F, 0.9F, 0.999F, 1e-8F, 0.0F, 1, true)); };
    };
    add("adam.direct", 0, 2000, adam(impl::bench::diopiAdam, state));
    add("adam.pass", 0, 2000, adam(diopiAdam, state));

    for (const std::int64_t elements : {1, 120, 4096}) {
        const std::vector<std::int64_t> size = elements == 1     ? std::vector<std::int64_t>{1, 1, 1, 1}
                                               : elements == 120 ? std::vector<std::int64_t>{2, 3, 4, 5}
                                                                 : std::vector<std::int64_t>{4, 4, 16, 16};
        const std::string tail = ".int64." + std::to_string(elements);
        const diopiTensorHandle_t x = tensor(size, diopi_dtype_int64);
        const diopiTensorHandle_t y = tensor(size, diopi_dtype_int64);
        const diopiTensorHandle_t z = tensor(size, diopi_dtype_int64);
        // The tensors alone: what a conversion cannot do without.
        const auto make = [=](int count) {
            return [=] {
                diopiSize_t shape;
                diopiSize_t stride;
                diopiTensorHandle_t created[32];
                check(diopiGetTensorShape(x, &shape));
                check(diopiGetTensorStride(x, &stride));
                for (int i = 0; i < count; ++i) {
                    check(diopiRequireTensor(ctx, &created[i], &shape, &stride, diopi_dtype_int32, diopi_device));
                }
                for (int i = 0; i < count; ++i) {
                    check(diopiHostReleaseTemporary(ctx, created[i]));
                }
            };
        };
        add("add.tensors" + tail, 3, 200, make(3));
        add("add.convert" + tail, 3, 200, [=, &one] { check(diopiAdd(ctx, z, x, y, &one)); });

        std::vector<diopiConstTensorHandle_t>* const inputs = new std::vector<diopiConstTensorHandle_t>;
        for (int i = 0; i < 16; ++i) {
            inputs->push_back(tensor(size, diopi_dtype_int64));
        }
        std::vector<std::int64_t> wide = size;
        wide[0] *= 16;
        const diopiTensorHandle_t out = tensor(wide, diopi_dtype_int64);
        add("cat.tensors" + tail, 17, 50, make(17));
        add("cat.convert" + tail, 17, 50, [=] { check(diopiCat(ctx, out, inputs->data(), 16, 0)); });

        std::vector<diopiTensorHandle_t> wideState;
        for (int i = 0; i < 5; ++i) {
            wideState.push_back(tensor(size, diopi_dtype_int64));
        }
        // Five in int32, and the old values of three of the four that are written.
        add("adam.tensors" + tail, 8, 100, make(8));
        add("adam.convert" + tail, 8, 100, adam(diopiAdam, wideState));
    }
    measure(all, rounds);
    for (const Measurement& each : all) {
        std::printf("%s %.2f %.2f %lld\n", each.name.c_str(), each.nanoseconds, each.allocations,
                    static_cast<long long>(each.temporaries));
    }
    return 0;
}
