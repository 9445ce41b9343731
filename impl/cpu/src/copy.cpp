// Copies with broadcasting and casts, and the memory of buffers.
#include <algorithm>
#include <cstring>
#include <new>

#include "diopi_core/dense.h"
#include "diopi_core/raw_elements.h"
#include "diopi_core/strided.h"
#include "diopi_core/threads.h"
#include "diopi_cpu/stream.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr int64_t kBlock = 1024;

}  // namespace

void copy_elements(const Tensor& to, const Tensor& from) {
    if (to.numel == 0) {
        return;
    }
    const Order order = tiled(memory_order(to.shape, to.strides, to.rank), from, to.rank);
    const Strided target = strided(to, order, to.rank);
    const Strided source = strided(from, order, to.rank);
    const bool is_same_type = from.dtype == to.dtype && to.dtype != Dtype::kBool;
    const bool is_streamed = target.is_dense() && is_worth_streaming(to.numel * target.element);
    parallel_for(to.numel, 16 * kBlock, [&](int64_t begin, int64_t end) {
        alignas(64) char gathered[kBlock * 16];
        alignas(64) char converted[kBlock * 16];
        for (int64_t start = begin; start < end; start += kBlock) {
            const int64_t count = std::min(kBlock, end - start);
            char* written = target.contiguous(start, count);
            const char* read = source.contiguous(start, count);
            if (read == nullptr) {
                char* const gathering = is_same_type && !is_streamed && written != nullptr ? written : gathered;
                source.gather(start, count, gathering);
                read = gathering;
            }
            const char* result = read;
            if (!is_same_type) {
                char* destination = written == nullptr || is_streamed ? converted : written;
                convert(from.dtype, read, to.dtype, destination, count);
                result = destination;
            }
            if (written == nullptr) {
                target.scatter(start, count, result);
            } else if (is_streamed) {
                stream_copy(written, result, count * target.element);
            } else if (result != written) {
                std::memcpy(written, result, static_cast<size_t>(count * target.element));
            }
        }
        if (is_streamed) {
            end_streaming();
        }
    });
}

void Buffer::Free::operator()(char* data) const { ::operator delete(data, std::align_val_t{64}); }

void Buffer::allocate(int64_t bytes) {
    data_.reset(
        static_cast<char*>(::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), std::align_val_t{64})));
}

void fill(const Tensor& to, const Number& value) {
    dispatch<kAny>(to.dtype, [&](auto sample) {
        using T = decltype(sample);
        T element = value.as<T>();
        Tensor one;
        one.data = &element;
        one.dtype = to.dtype;
        one.numel = 1;
        copy_elements(to, one);
    });
}

}  // namespace diopigen::core
