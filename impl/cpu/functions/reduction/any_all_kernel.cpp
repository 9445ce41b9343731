// Any and All: whether elements differ from zero (NaN does). The loops.
#include "diopi_cpu/reduce.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::core {

using namespace cpu;

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
void search(const Tensor& out, const Tensor& input, const Rows& rows) {
    const ReductionLayout layout(input, rows, Walk::kMemory);
    dispatch<kAny>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const auto states = reduce_elements<S>(layout, Op<S>());
        store_states<Bool>(layout, out, states, [](uint8_t state) { return Bool(state); });
    });
}

}  // namespace

void find_truth(const Tensor& out, const Tensor& input, const Rows& rows, bool is_any) {
    is_any ? search<Any>(out, input, rows) : search<All>(out, input, rows);
}

}  // namespace diopigen::core
