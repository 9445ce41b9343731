#include <cstring>

#include "indexing/advanced.h"
#include "indexing/positions.h"

namespace diopigen::core {

namespace {

Buffer room(int64_t count) {
    Buffer buffer;
    buffer.allocate(count * static_cast<int64_t>(sizeof(int64_t)));
    return buffer;
}

// Slice k of `from` goes to slice `positions[k]` of `to`.
template <typename W>
void put(W* to, const W* from, const Advanced& index) {
    const DimSplit& split = index.split;
    const int64_t* positions = index.positions();
    parallel_columns(split.outer, split.inner, index.count, [&](int64_t outer, int64_t begin, int64_t end) {
        for (int64_t k = 0; k < index.count; ++k) {
            const W* source = from + (outer * index.count + k) * split.inner;
            W* target = to + (outer * split.size + positions[k]) * split.inner;
            for (int64_t i = begin; i < end; ++i) {
                target[i] = source[i];
            }
        }
    });
}

}  // namespace

Buffer zero_positions(int64_t count) {
    Buffer positions = room(count);
    std::memset(positions.data(), 0, static_cast<size_t>(count) * sizeof(int64_t));
    return positions;
}

Buffer positions_in(const Tensor& index, int64_t size) {
    const Positions positions(index, size, Negative::kFromEnd);
    Buffer values = room(index.numel);
    auto* const to = static_cast<int64_t*>(values.data());
    parallel_for(index.numel, 65536, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            to[i] = positions[i];
        }
    });
    return values;
}

void add_positions(const Buffer& positions, const std::vector<int64_t>& common, const Buffer& values,
                   const std::vector<int64_t>& shape, int64_t scale) {
    auto* const to = static_cast<int64_t*>(positions.data());
    const auto* const from = static_cast<const int64_t*>(values.data());
    const int64_t count = product(common, 0, common.size());
    if (shape == common) {
        parallel_for(count, 65536, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                to[i] += scale * from[i];
            }
        });
        return;
    }
    const size_t rank = common.size();
    std::vector<int64_t> strides(rank, 0);
    int64_t stride = 1;
    for (size_t i = 1; i <= shape.size(); ++i) {
        const int64_t size = shape[shape.size() - i];
        strides[rank - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    std::vector<int64_t> at(rank, 0);
    int64_t offset = 0;
    for (int64_t k = 0; k < count; ++k) {
        to[k] += scale * from[offset];
        for (size_t i = rank; i-- > 0;) {
            offset += strides[i];
            if (++at[i] < common[i]) {
                break;
            }
            offset -= strides[i] * common[i];
            at[i] = 0;
        }
    }
}

void pick_at(const Tensor& out, const Tensor& input, const Advanced& index) {
    const RawInput from(input);
    const RawOutput to(out);
    dispatch_word(input.dtype, [&](auto sample) {
        using W = decltype(sample);
        pick_slices(to.as<W>(), from.as<W>(), index.positions(), index.count, index.split);
    });
    to.store();
}

void put_at(const Tensor& target, const Tensor& values, const Advanced& index, bool accumulate) {
    if (accumulate) {
        dispatch_compute<kAny>(target.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(values);
            const Changed changed(target, dtype_of<T>);
            add_slices(changed.as<T>(), source.data(), index.positions(), index.count, index.split);
            changed.store();
        });
        return;
    }
    dispatch_word(target.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(values);
        const Changed changed(target, target.dtype);
        put(changed.as<W>(), source.as<W>(), index);
        changed.store();
    });
}

}  // namespace diopigen::core
