// What a call costs in addition to its work: nanoseconds of calls on one element, through the host runtime.
// Prints a line for each: the function, nanoseconds.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

extern "C" int32_t initLibrary(void);

namespace {

constexpr int kCalls = 2000;
constexpr int kRounds = 400;

void must(diopiError_t status, const char* what) {
    if (status != diopiSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, diopiGetLastErrorString());
        std::exit(1);
    }
}

// The best of many rounds: other work on the machine only ever makes a round longer.
template <typename Call>
void measure(const char* name, Call&& call) {
    using Clock = std::chrono::steady_clock;
    double best = 1e30;
    for (int round = 0; round < kRounds; ++round) {
        const auto start = Clock::now();
        for (int i = 0; i < kCalls; ++i) {
            must(call(), name);
        }
        best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kCalls);
    }
    std::printf("%s %.1f\n", name, best);
}

}  // namespace

int main() {
    if (initLibrary() != 0) {
        return 1;
    }
    diopiContextHandle_t ctx = nullptr;
    must(diopiHostCreateContext(&ctx), "diopiHostCreateContext");
    float data[4] = {0.5F, 1.5F, 2.5F, 0};
    uint16_t halves[3] = {0x3c00, 0x3c00, 0};
    const int64_t one[4] = {1, 1, 1, 1};
    const auto wrap = [&](void* at, uint64_t bytes, diopiDtype_t dtype, int64_t rank) {
        diopiTensorHandle_t tensor = nullptr;
        const diopiSize_t sizes{one, rank};
        must(diopiHostWrapMemory(ctx, &tensor, at, bytes, &sizes, nullptr, 0, dtype, diopi_device),
             "diopiHostWrapMemory");
        return tensor;
    };
    diopiTensorHandle_t a = wrap(&data[0], 4, diopi_dtype_float32, 1);
    diopiTensorHandle_t b = wrap(&data[1], 4, diopi_dtype_float32, 1);
    diopiTensorHandle_t c = wrap(&data[2], 4, diopi_dtype_float32, 1);
    diopiTensorHandle_t out = wrap(&data[3], 4, diopi_dtype_float32, 1);
    diopiTensorHandle_t deep = wrap(&data[0], 4, diopi_dtype_float32, 4);
    diopiTensorHandle_t deep_out = wrap(&data[3], 4, diopi_dtype_float32, 4);
    diopiTensorHandle_t half = wrap(&halves[0], 2, diopi_dtype_float16, 1);
    diopiTensorHandle_t half_out = wrap(&halves[2], 2, diopi_dtype_float16, 1);
    diopiScalar_t number{};
    number.stype = diopi_dtype_float64;
    number.fval = 1.0;
    diopiSize_t sizes{};
    measure("diopiGetTensorShape", [&] { return diopiGetTensorShape(a, &sizes); });
    measure("diopiAdd", [&] { return diopiAdd(ctx, out, a, b, &number); });
    measure("diopiAdd,4d", [&] { return diopiAdd(ctx, deep_out, deep, deep, &number); });
    measure("diopiAdd,float16", [&] { return diopiAdd(ctx, half_out, half, half, &number); });
    measure("diopiAddScalar", [&] { return diopiAddScalar(ctx, out, a, &number, &number); });
    measure("diopiExp", [&] { return diopiExp(ctx, out, a); });
    measure("diopiMaximum", [&] { return diopiMaximum(ctx, out, a, b); });
    measure("diopiAddcmul", [&] { return diopiAddcmul(ctx, out, a, b, c, &number); });
    measure("diopiRelu", [&] { return diopiRelu(ctx, out, a); });

    // One function of each other group.
    uint8_t bytes[1] = {1};
    int64_t integers[2] = {0, 0};
    diopiTensorHandle_t truth = wrap(bytes, 1, diopi_dtype_bool, 1);
    diopiTensorHandle_t index = wrap(&integers[0], 8, diopi_dtype_int64, 1);
    diopiTensorHandle_t index_out = wrap(&integers[1], 8, diopi_dtype_int64, 1);
    diopiTensorHandle_t row = wrap(&data[0], 4, diopi_dtype_float32, 2);
    diopiTensorHandle_t row_out = wrap(&data[3], 4, diopi_dtype_float32, 2);
    float statistics[2] = {0, 0};
    diopiTensorHandle_t mean = wrap(&statistics[0], 4, diopi_dtype_float32, 2);
    diopiTensorHandle_t deviation = wrap(&statistics[1], 4, diopi_dtype_float32, 2);
    diopiTensorHandle_t whole = nullptr;
    const diopiSize_t no_sizes{nullptr, 0};
    must(diopiHostWrapMemory(ctx, &whole, &data[3], 4, &no_sizes, nullptr, 0, diopi_dtype_float32, diopi_device),
         "diopiHostWrapMemory");
    diopiGeneratorHandle_t generator = nullptr;
    must(diopiHostCreateGenerator(&generator, 1, 0), "diopiHostCreateGenerator");
    const int64_t zeros[2] = {0, 0};
    const diopiSize_t ones{one, 2};
    const diopiSize_t paddings{zeros, 2};
    const diopiSize_t dims{zeros, 1};
    const diopiConstTensorHandle_t both[1] = {a};
    measure("diopiCastDtype", [&] { return diopiCastDtype(ctx, index_out, a); });
    measure("diopiCopyInp", [&] { return diopiCopyInp(ctx, a, out); });
    measure("diopiLogicalNot", [&] { return diopiLogicalNot(ctx, truth, a); });
    measure("diopiSum", [&] { return diopiSum(ctx, whole, a, dims); });
    measure("diopiSoftmax", [&] { return diopiSoftmax(ctx, out, a, 0); });
    measure("diopiLayerNorm", [&] { return diopiLayerNorm(ctx, row_out, mean, deviation, row, a, b, {one, 1}, 1e-5); });
    measure("diopiMSELoss", [&] { return diopiMSELoss(ctx, whole, a, b, ReductionMean); });
    measure("diopiMm", [&] { return diopiMm(ctx, row_out, row, row); });
    measure("diopiConvolution2d",
            [&] { return diopiConvolution2d(ctx, deep_out, deep, deep, nullptr, ones, paddings, ones, 1); });
    measure("diopiAvgPool2d",
            [&] { return diopiAvgPool2d(ctx, deep_out, deep, ones, ones, paddings, false, true, nullptr); });
    measure("diopiIndexSelect", [&] { return diopiIndexSelect(ctx, out, a, 0, index); });
    measure("diopiCat", [&] { return diopiCat(ctx, out, const_cast<diopiConstTensorHandle_t*>(both), 1, 0); });
    measure("diopiSort", [&] { return diopiSort(ctx, out, index_out, a, 0, false, nullptr); });
    measure("diopiUniformInp", [&] { return diopiUniformInp(ctx, out, 0.0, 1.0, generator); });
    return 0;
}
