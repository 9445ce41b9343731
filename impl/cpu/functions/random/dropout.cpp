// Dropout and DropoutInp. A mask with sizes of 1 shares its draws along those dimensions.
#include <diopi/functions.h>

#include "draw.h"

using namespace diopi::cpu;

namespace {

// What is not kept becomes 0, whatever it was.
template <typename T>
DIOPI_CPU_CLONES void keep(T* y, const T* x, const Uint8* kept, double scale, int64_t count) {
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<T>(static_cast<double>(x[i]) * scale);
        y[i] = kept[i].value != 0 ? value : T(0);
    }
}

void dropout(const Tensor& out, const Tensor& mask, const Tensor& input, double p, bool train,
             diopiGeneratorHandle_t generator) {
    require(p >= 0 && p <= 1, "C1: p lies between 0 and 1");
    bool fits = mask.rank == input.rank;
    for (int64_t i = 0; fits && i < mask.rank; ++i) {
        fits = mask.shape[i] == 1 || mask.shape[i] == input.shape[i];
    }
    require(fits, "C2: the shape of mask broadcasts to that of input");
    require_generator(generator);
    require_one_device({&out, &mask, &input});
    require_no_overlap(out);
    require_no_overlap(mask);
    require_disjoint(mask, out);
    require_disjoint(mask, input);
    if (train) {
        draw<Bool>(mask, generator, [p](int64_t, const Words& words) { return Bool(unit(words, 0) >= p); });
    } else {
        const Output<Bool> all(mask);
        std::fill_n(all.data(), mask.numel, Bool(true));
        all.store();
    }
    // What was drawn is 0 or 1.
    Tensor bytes = mask;
    bytes.dtype = Dtype::kUint8;
    const View spread = expanded(bytes, shape_of(input));
    const Input<Uint8> kept(spread.tensor());
    const double scale = train && p < 1 ? 1 / (1 - p) : 1;
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> y(out);
        parallel_for(input.numel, 8192, [&](int64_t begin, int64_t end) {
            keep(y.data() + begin, x.data() + begin, kept.data() + begin, scale, end - begin);
        });
        y.store();
    });
}

}  // namespace

DIOPI_API diopiError_t diopiDropout(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiTensorHandle_t mask,
                                    diopiConstTensorHandle_t input, double p, bool train,
                                    diopiGeneratorHandle_t generator) {
    return guarded("diopiDropout", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        const Tensor input_tensor = tensor("input", input, kFloating);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        require_no_overlap(out_tensor, input_tensor);
        dropout(out_tensor, mask_tensor, input_tensor, p, train, generator);
    });
}

DIOPI_API diopiError_t diopiDropoutInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t input,
                                       diopiTensorHandle_t mask, double p, bool train,
                                       diopiGeneratorHandle_t generator) {
    return guarded("diopiDropoutInp", [&] {
        const Tensor target = tensor("input", input, kFloating);
        dropout(target, tensor("mask", mask, kBool), target, p, train, generator);
    });
}
