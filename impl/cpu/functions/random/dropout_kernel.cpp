// Dropout and DropoutInp. A mask with sizes of 1 repeats its samples along those dimensions. The loops.
#include "random/random_kernels.h"
#include "random/sample.h"

namespace diopigen::core {

namespace {

// What is dropped becomes 0, whatever its value.
template <typename T>
DIOPI_CPU_CLONES void keep(T* y, const T* x, const Uint8* keep_mask, double scale, int64_t count) {
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<T>(static_cast<double>(x[i]) * scale);
        y[i] = keep_mask[i].value != 0 ? value : T(0);
    }
}

}  // namespace

void drop_out(const Tensor& out, const Tensor& mask, const Tensor& input, double p, bool train,
              diopiGeneratorHandle_t generator) {
    if (train) {
        fill_random<Bool>(mask, generator, [p](int64_t, const RandomBits& bits) { return Bool(unit(bits, 0) >= p); });
    } else {
        const Output<Bool> all(mask);
        std::fill_n(all.data(), mask.numel, Bool(true));
        all.store();
    }
    // What was sampled is 0 or 1.
    Tensor bytes = mask;
    bytes.dtype = Dtype::kUint8;
    const View spread = expanded(bytes, shape_of(input));
    const Input<Uint8> keep_mask(spread.tensor());
    const double scale = train && p < 1 ? 1 / (1 - p) : 1;
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> y(out);
        parallel_for(input.numel, 8192, [&](int64_t begin, int64_t end) {
            keep(y.data() + begin, x.data() + begin, keep_mask.data() + begin, scale, end - begin);
        });
        y.store();
    });
}

}  // namespace diopigen::core
