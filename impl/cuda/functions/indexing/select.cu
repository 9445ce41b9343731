// What IndexSelect, Gather, Embedding and IndexFill move, and the check of positions.
#include <cstring>
#include <vector>

#include "diopi_cuda/flag.h"
#include "places.h"

namespace diopi::cuda {

namespace {

void mark_outside(const Int64* positions, int64_t count, int64_t least, int64_t end, int* flag) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (positions[i].value < least || positions[i].value >= end) {
            *flag = 1;
        }
    });
}

bool all_lie_in(const Int64* positions, int64_t count, int64_t least, int64_t end) {
    const Flag is_wrong;
    mark_outside(positions, count, least, end, is_wrong.data());
    return !is_wrong.is_raised();
}

template <typename W>
void pick(W* to, const W* from, const Int64* positions, int64_t count, const Around& place) {
    for_each(place.outer * count * place.inner, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t i = at % place.inner;
        const int64_t k = at / place.inner % count;
        const int64_t outer = at / place.inner / count;
        to[at] = from[(outer * place.size + positions[k].value) * place.inner + i];
    });
}

template <typename W>
void gather(W* to, const W* from, const Int64* positions, const DevicePlaces& places) {
    for_each(places.count(), [=] DIOPI_KERNEL(int64_t k) { to[k] = from[places.place(k, positions[k].value)]; });
}

template <typename T>
void fill_slices(T* elements, const Int64* positions, int64_t count, const Around& place, T filling) {
    for_each(place.outer * count * place.inner, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t i = at % place.inner;
        const int64_t k = at / place.inner % count;
        const int64_t outer = at / place.inner / count;
        elements[(outer * place.size + from_start(positions[k], place.size)) * place.inner + i] = filling;
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

void check_positions(const Tensor& index, const Input<Int64>& values, int64_t least, int64_t end) {
    if (cuda::all_lie_in(values.data(), index.numel, least, end)) {
        return;
    }
    std::vector<Int64> all(static_cast<size_t>(index.numel));
    cuda::read_back(all.data(), values.data(), all.size() * sizeof(Int64));
    for (const Int64 value : all) {
        if (value.value < least || value.value >= end) {
            fail_position(index, value.value, least, end);
        }
    }
}

void require_positions(const Input<Int64>& index, int64_t count, int64_t size, const char* message) {
    require(cuda::all_lie_in(index.data(), count, 0, size), message);
}

void pick(const Tensor& out, const Tensor& input, const Input<Int64>& positions, int64_t count, const Around& place) {
    dispatch_word(input.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words source(input);
        const NewWords target(out);
        cuda::pick<W>(target.as<W>(), source.as<W>(), positions.data(), count, place);
        target.store();
    });
}

void gather_elements(const Tensor& out_tensor, const Tensor& input_tensor, const Input<Int64>& positions,
                     const Tensor& index_tensor, int64_t at) {
    const cuda::DevicePlaces places(shape_at_least_1d(input_tensor), shape_at_least_1d(index_tensor), at);
    dispatch_word(input_tensor.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words source(input_tensor);
        const NewWords target(out_tensor);
        cuda::gather<W>(target.as<W>(), source.as<W>(), positions.data(), places);
        target.store();
    });
}

Number number_in(const Tensor& value) {
    alignas(16) char element[16];
    const auto bytes = static_cast<size_t>(size_of(value.dtype));
    if (value.device == diopi_host) {
        std::memcpy(element, value.data, bytes);
    } else {
        cuda::read_back(element, value.data, bytes);
    }
    Number number;
    dispatch<kNumber | kBool>(value.dtype, [&](auto sample) {
        using T = decltype(sample);
        T own;
        std::memcpy(&own, element, sizeof(T));
        number = is_floating(value.dtype) ? Number::of(cast<double>(own)) : Number::of(cast<Int64>(own).value);
    });
    return number;
}

void fill_slices_at(const Tensor& target, const Tensor& input, const Positions& positions, const Around& place,
                    const Number& value) {
    copy_unless_same(target, input);
    dispatch<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Changed changed(target, target.dtype);
        cuda::fill_slices<T>(changed.as<T>(), positions.data(), positions.count(), place, value.as<T>());
        changed.store();
    });
}

}  // namespace diopi::cpu
