// What Index and IndexPut do to positions and elements.
#include "add_slices.h"
#include "device_offsets.h"
#include "diopi_cuda/atomic.h"
#include "indexing/advanced.h"
#include "slices.h"

namespace diopigen::cuda {

namespace {

void count_from_start(int64_t* to, const Int64* positions, int64_t count, int64_t size) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { to[i] = from_start(positions[i], size); });
}

void add_broadcast(int64_t* to, const Dims& dims, const Operand& values, int64_t count, int64_t scale) {
    for_each(count,
             [=] DIOPI_KERNEL(int64_t i) { to[i] += scale * *reinterpret_cast<const int64_t*>(values.at(dims, i)); });
}

// 1 + the last number of the slices that go to each position.
void find_last(int64_t* last, const int64_t* positions, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t k) { atomic_max(last + positions[k], k + 1); });
}

template <typename W>
void put(void* target, const void* source, const int64_t* positions, const int64_t* last, int64_t count, int64_t inner,
         const DimSplit& split) {
    auto* const to = static_cast<W*>(target);
    const auto* const from = static_cast<const W*>(source);
    const SlicePositions slices(count, inner);
    const int64_t size = split.size;
    for_each(split.outer * count * inner, [=] DIOPI_KERNEL(int64_t at) {
        int64_t outer;
        int64_t k;
        int64_t i;
        slices.split(at, outer, k, i);
        if (last[positions[k]] == k + 1) {
            to[(outer * size + positions[k]) * inner + i] = from[at];
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

Buffer zero_positions(int64_t count) {
    Buffer positions;
    positions.allocate(count * static_cast<int64_t>(sizeof(int64_t)));
    cuda::clear(positions.data(), static_cast<size_t>(count) * sizeof(int64_t));
    return positions;
}

Buffer positions_in(const Tensor& index, int64_t size) {
    const Positions positions(index, size, Negative::kFromEnd);
    Buffer values;
    values.allocate(index.numel * static_cast<int64_t>(sizeof(int64_t)));
    cuda::count_from_start(static_cast<int64_t*>(values.data()), positions.data(), index.numel, size);
    return values;
}

void add_positions(const Buffer& positions, const std::vector<int64_t>& common, const Buffer& values,
                   const std::vector<int64_t>& shape, int64_t scale) {
    Tensor from;
    from.dtype = Dtype::kInt64;
    from.device = diopi_device;
    from.data = values.data();
    std::vector<int64_t> strides(shape.size());
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
        strides[d] = stride;
    }
    const View source(from, shape, strides);
    const View target(from, common, std::vector<int64_t>(common.size(), 0));
    const Tensor* tensors[] = {&source.tensor()};
    cuda::Operand operand;
    const cuda::Dims dims = cuda::walk(target.tensor(), tensors, &operand, 1);
    cuda::add_broadcast(static_cast<int64_t*>(positions.data()), dims, operand, target.tensor().numel, scale);
}

void pick_at(const Tensor& out, const Tensor& input, const Advanced& index) {
    const RawInput from(input);
    const RawOutput to(out);
    const int64_t bytes = index.split.inner * size_of(input.dtype);
    cuda::dispatch_slices(bytes, {to.as<char>(), from.as<char>()}, [&](auto sample, int64_t inner) {
        cuda::pick<decltype(sample)>(to.as<char>(), from.as<char>(), index.positions(), index.count, inner,
                                     index.split);
    });
    to.store();
}

void put_at(const Tensor& target, const Tensor& values, const Advanced& index, bool accumulate) {
    if (accumulate) {
        const Dtype computed = compute_of(target.dtype);
        const auto* const positions = reinterpret_cast<const Int64*>(index.positions());
        dispatch_compute<kAny>(target.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(values);
            const Changed changed(target, dtype_of<T>);
            cuda::add_slices(changed.as<T>(), source.data(), computed, positions, index.count, index.split);
            changed.store();
        });
        return;
    }
    const Buffer last = zero_positions(index.split.size);
    cuda::find_last(static_cast<int64_t*>(last.data()), index.positions(), index.count);
    const RawInput source(values);
    const Changed changed(target, target.dtype);
    const int64_t bytes = index.split.inner * size_of(target.dtype);
    cuda::dispatch_slices(bytes, {changed.as<char>(), source.as<char>()}, [&](auto sample, int64_t inner) {
        cuda::put<decltype(sample)>(changed.as<char>(), source.as<char>(), index.positions(),
                                    static_cast<const int64_t*>(last.data()), index.count, inner, index.split);
    });
    changed.store();
}

}  // namespace diopigen::core
