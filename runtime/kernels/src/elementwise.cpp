#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/elementwise.h>
#include <diopigen_kernels/parallel.h>

#include <vector>

namespace diopigen::kernels {
namespace {

template <typename Value>
void run_loop(const Kernel& k, const ElementwiseKernel& kernel, ElementwiseLoop<Value> loop) {
    constexpr int kMost = ElementwiseKernel::kMostTensors;
    const Shape& shape = k.buffer(0).shape;
    // Of tensors that are no such arrays.
    std::vector<Output<Value>> out;
    std::vector<Input<Value>> in;
    Value* to[kMost];
    const Value* from[kMost];
    for (int i = 0; i < kernel.results; ++i) {
        to[i] = isArray<Value>(k, i, shape) ? k.out<Value>(i) : out.emplace_back(k, i, shape).data();
    }
    for (int i = 0; i < kernel.operands; ++i) {
        const int at = kernel.results + i;
        from[i] = isArray<Value>(k, at, shape) ? k.in<Value>(at) : in.emplace_back(k, at, shape).data();
    }
    const auto compute = [&](int64_t first, int64_t last) { loop(kernel.bytes, from, to, first, last); };
    const int64_t size = product(shape);
    if (size <= grainOf(1)) {
        compute(0, size);
    } else {
        forRanges(size, grainOf(1), compute);
    }
    for (Output<Value>& each : out) {
        each.finish();
    }
}

}  // namespace

void ElementwiseKernel::operator()(const Kernel& k) const {
    if (floats != nullptr) {
        run_loop(k, *this, floats);
    } else if (doubles != nullptr) {
        run_loop(k, *this, doubles);
    } else {
        run_loop(k, *this, integers);
    }
}

}  // namespace diopigen::kernels
