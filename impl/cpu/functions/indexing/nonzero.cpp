// Nonzero and MaskedSelect: outputs whose size follows from the data, allocated through the host.
#include <diopi/functions.h>

#include "mask.h"

using namespace diopi::cpu;

namespace {

// The coordinates of an element.
void store_coordinates(Int64* to, int64_t place, const Tensor& tensor) {
    for (int64_t d = tensor.rank; d-- > 0;) {
        to[d] = Int64(place % tensor.shape[d]);
        place /= tensor.shape[d];
    }
}

// The same in two dimensions for places in rising order, almost without divisions.
void store_pairs(Int64* to, const int64_t* places, int64_t count, int64_t width) {
    int64_t row = places[0] / width;
    int64_t first = row * width;
    for (int64_t i = 0; i < count; ++i) {
        if (places[i] - first >= width) {
            row = places[i] / width;
            first = row * width;
        }
        to[2 * i] = Int64(row);
        to[2 * i + 1] = Int64(places[i] - first);
    }
}

}  // namespace

DIOPI_API diopiError_t diopiNonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                    diopiConstTensorHandle_t input) {
    return guarded("diopiNonzero", [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        // What is no truth value yet becomes one: its bytes say the same.
        const bool is_truth = input_tensor.dtype == Dtype::kBool || input_tensor.dtype == Dtype::kUint8;
        Buffer truths;
        Tensor source = input_tensor;
        const std::vector<int64_t> shape = shape_of(input_tensor);
        std::vector<int64_t> strides(shape.size());
        if (!is_truth) {
            truths.allocate(input_tensor.numel);
            source.data = truths.data();
            source.dtype = Dtype::kBool;
            source.strides = strides.data();
            for (int64_t d = input_tensor.rank, step = 1; d-- > 0; step *= shape[d]) {
                strides[d] = step;
            }
            copy_elements(source, input_tensor);
        }
        const Mask mask(source, shape);
        const Tensor result = new_tensor(ctx, "out", {mask.count(), input_tensor.rank}, Dtype::kInt64, input_tensor);
        const Output<Int64> places(result);
        mask.for_each_run([&](const int64_t* found, int64_t number, int64_t count) {
            Int64* to = places.data() + number * input_tensor.rank;
            if (input_tensor.rank == 2) {
                store_pairs(to, found, count, input_tensor.shape[1]);
                return;
            }
            for (int64_t i = 0; i < count; ++i) {
                store_coordinates(to + i * input_tensor.rank, found[i], input_tensor);
            }
        });
        places.store();
        *out = result.handle;
    });
}

DIOPI_API diopiError_t diopiMaskedSelect(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask) {
    return guarded("diopiMaskedSelect", [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        require_one_device({&input_tensor, &mask_tensor});
        const std::vector<int64_t> shape = broadcast_shape(input_tensor, mask_tensor);
        const View input_view = expanded(input_tensor, shape);
        const Mask chosen(mask_tensor, shape);
        const Tensor result = new_tensor(ctx, "out", {chosen.count()}, input_tensor.dtype, input_tensor);
        dispatch_word(input_tensor.dtype, [&](auto sample) {
            using W = decltype(sample);
            const Words source(input_view.tensor());
            const NewWords target(result);
            const W* from = source.as<W>();
            W* to = target.as<W>();
            chosen.for_each_run([&](const int64_t* places, int64_t number, int64_t count) {
                for (int64_t i = 0; i < count; ++i) {
                    to[number + i] = from[places[i]];
                }
            });
            target.store();
        });
        *out = result.handle;
    });
}
