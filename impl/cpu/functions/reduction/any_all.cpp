// Any and All: whether elements differ from zero (NaN does).
#include <diopi/functions.h>

#include "checks.h"
#include "diopi_cpu/fold.h"

using namespace diopi::cpu;

namespace {

// States are 0 and 1: bytes, which go through the same loops as other elements.
template <typename S>
struct Any {
    uint8_t identity() const { return 0; }
    uint8_t add(uint8_t state, S x) const { return state | cast<Bool>(x).value; }
    uint8_t join(uint8_t a, uint8_t b) const { return a | b; }
};

template <typename S>
struct All {
    uint8_t identity() const { return 1; }
    uint8_t add(uint8_t state, S x) const { return state & cast<Bool>(x).value; }
    uint8_t join(uint8_t a, uint8_t b) const { return a & b; }
};

template <template <typename> typename Op>
void search(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const int64_t* dim) {
    const Tensor out_tensor = tensor("out", out, kMask);
    const Tensor input_tensor = tensor("input", input, kAny);
    const Rows rows = rows_over(input_tensor, "dim", dim);
    check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
    const FoldLayout layout(input_tensor, rows, Walk::kMemory);
    dispatch<kAny>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const auto states = fold_elements<S>(layout, Op<S>());
        store_states<Bool>(layout, out_tensor, states, [](uint8_t state) { return Bool(state); });
    });
}

}  // namespace

DIOPI_API diopiError_t diopiAny(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                const int64_t* dim) {
    return guarded("diopiAny", [&] { search<Any>(out, input, dim); });
}

DIOPI_API diopiError_t diopiAll(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                const int64_t* dim) {
    return guarded("diopiAll", [&] { search<All>(out, input, dim); });
}
