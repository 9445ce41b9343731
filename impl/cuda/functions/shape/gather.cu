// Pad and Roll by tables of coordinates, and the gradient of Unfold.
#include "diopi_cuda/fast_divmod.h"
#include "shape/shape_kernels.h"

namespace diopigen::cuda {

namespace {

struct DeviceTables {
    int rank = 0;
    FastDivmod sizes[kMaxDims];  // of the result
    int64_t starts[kMaxDims];    // where the table of a dimension begins
    int64_t strides[kMaxDims];   // of the input, in elements
};

template <typename W>
void gather(W* to, const W* from, const int64_t* entries, const DeviceTables& tables, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        int64_t rest = i;
        int64_t at = 0;
        DIOPI_NO_UNROLL
        for (int d = tables.rank - 1; d >= 0; --d) {
            const int64_t outer = tables.sizes[d].split(rest);
            at += entries[tables.starts[d] + rest] * tables.strides[d];
            rest = outer;
        }
        to[i] = from[at];
    });
}

template <typename T>
void add_up_windows(T* sums, const T* source, const DimSplit& split, int64_t count, int64_t size, int64_t stride) {
    const FastDivmod by_inner(split.inner);
    const FastDivmod by_size(split.size);
    for_each(split.outer * split.size * split.inner, [=] DIOPI_KERNEL(int64_t at) {
        int64_t i = at;
        int64_t element = by_inner.split(i);
        const int64_t outer = by_size.split(element);
        const int64_t before = element - size + 1;
        T sum(0);
        for (int64_t w = before > 0 ? (before + stride - 1) / stride : 0; w < count && w * stride <= element; ++w) {
            sum = sum + source[((outer * count + w) * split.inner + i) * size + element - w * stride];
        }
        sums[at] = sum;
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void gather_tables(const Tensor& out, const Tensor& input, const std::vector<int64_t>& input_shape,
                   const Tables& tables) {
    require(tables.size() <= static_cast<size_t>(cuda::kMaxDims), "parameter 'input' has too many dimensions");
    cuda::DeviceTables tables_on_device;
    tables_on_device.rank = static_cast<int>(tables.size());
    std::vector<int64_t> entries;
    for (size_t d = 0; d < tables.size(); ++d) {
        tables_on_device.sizes[d] = cuda::FastDivmod(static_cast<int64_t>(tables[d].size()));
        tables_on_device.starts[d] = static_cast<int64_t>(entries.size());
        tables_on_device.strides[d] = product(input_shape, d + 1, input_shape.size());
        entries.insert(entries.end(), tables[d].begin(), tables[d].end());
    }
    Buffer on_device;
    on_device.allocate(static_cast<int64_t>(entries.size() * sizeof(int64_t)));
    cuda::send(on_device.data(), entries.data(), entries.size() * sizeof(int64_t));
    dispatch_word(out.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(input);
        const RawOutput to(out);
        cuda::gather<W>(to.as<W>(), from.as<W>(), static_cast<const int64_t*>(on_device.data()), tables_on_device,
                        out.numel);
        to.store();
    });
}

void add_up_windows(const Tensor& result, const Tensor& gradient, const DimSplit& split, int64_t count, int64_t size,
                    int64_t stride) {
    dispatch_compute<kFloating | kComplex>(result.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(gradient);
        const Output<T> sums(result);
        cuda::add_up_windows<T>(sums.data(), source.data(), split, count, size, stride);
        sums.store();
    });
}

}  // namespace diopigen::core
