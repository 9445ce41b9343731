// Shapes and strides, as pure functions. Sizes and strides are in elements.
#ifndef DIOPIGEN_ADAPTOR_GEOMETRY_H_
#define DIOPIGEN_ADAPTOR_GEOMETRY_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "rule.h"

namespace diopigen {
namespace adaptor {
namespace {

// As in PyTorch and in the host runtime.
constexpr std::int64_t kMaxRank = 64;

// A list of strides, or of sizes, of its own.
struct Strides {
    std::int64_t values[kMaxRank];
    std::int64_t rank;

    diopiSize_t as_size() const { return diopiSize_t{rank == 0 ? nullptr : values, rank}; }
};

inline bool is_empty(const diopiSize_t& size) {
    for (std::int64_t i = 0; i < size.len; ++i) {
        if (size.data[i] == 0) {
            return true;
        }
    }
    return false;
}

// The stride of a dimension of one element is never used, so any value of it fits; so does any stride of an empty
// tensor, which callers of the two functions below ask about.
inline bool is_row_major(const diopiSize_t& size, const diopiSize_t& stride) {
    std::int64_t expected = 1;
    for (std::int64_t i = size.len; i-- > 0;) {
        if (size.data[i] != 1) {
            if (stride.data[i] != expected) {
                return false;
            }
            expected *= size.data[i];
        }
    }
    return true;
}

inline bool is_channels_last(const diopiSize_t& size, const diopiSize_t& stride) {
    if (size.len < 3) {
        return is_row_major(size, stride);
    }
    std::int64_t expected = 1;
    for (std::int64_t step = 0; step < size.len; ++step) {
        // Fastest first: dimension 1, then the last down to 2, then 0.
        const std::int64_t i = step == 0 ? 1 : (step == size.len - 1 ? 0 : size.len - step);
        if (size.data[i] != 1) {
            if (stride.data[i] != expected) {
                return false;
            }
            expected *= size.data[i];
        }
    }
    return true;
}

// The strides that a new row-major tensor has. The products do not wait for one another, which makes this the quick
// question; a row-major tensor with dimensions of one element may have other strides.
inline bool is_plain_row_major(const diopiSize_t& size, const diopiSize_t& stride) {
    const std::int64_t last = size.len - 1;
    if (last < 0) {
        return true;
    }
    bool plain = stride.data[last] == 1;
    for (std::int64_t i = 0; i < last; ++i) {
        plain &= stride.data[i] == size.data[i + 1] * stride.data[i + 1];
    }
    return plain;
}

inline bool layout_fits(std::uint8_t layouts, const diopiSize_t& size, const diopiSize_t& stride) {
    if (layouts == 0) {
        return true;
    }
    if ((layouts & kRowMajor) != 0 && (is_plain_row_major(size, stride) || is_row_major(size, stride))) {
        return true;
    }
    return ((layouts & kChannelsLast) != 0 && is_channels_last(size, stride)) || is_empty(size);
}

inline Strides row_major_strides(const diopiSize_t& size) {
    Strides strides;
    strides.rank = size.len;
    std::int64_t step = 1;
    for (std::int64_t i = size.len; i-- > 0;) {
        strides.values[i] = step;
        step *= size.data[i] > 1 ? size.data[i] : 1;
    }
    return strides;
}

inline Strides channels_last_strides(const diopiSize_t& size) {
    Strides strides = row_major_strides(size);
    if (size.len < 3) {
        return strides;
    }
    std::int64_t step = 1;
    for (std::int64_t position = 0; position < size.len; ++position) {
        const std::int64_t i = position == 0 ? 1 : (position == size.len - 1 ? 0 : size.len - position);
        strides.values[i] = step;
        step *= size.data[i] > 1 ? size.data[i] : 1;
    }
    return strides;
}

// Elements from the first to the last that the tensor reaches, both included.
inline std::int64_t extent(const diopiSize_t& size, const diopiSize_t& stride) {
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < size.len; ++i) {
        if (size.data[i] == 0) {
            return 0;
        }
        last += (size.data[i] - 1) * stride.data[i];
    }
    return last + 1;
}

inline std::int64_t element_count(const diopiSize_t& size) {
    std::int64_t count = 1;
    for (std::int64_t i = 0; i < size.len; ++i) {
        count *= size.data[i];
    }
    return count;
}

// Strides for a copy that need not have any format: those of the tensor, or, where that has gaps, its order of
// dimensions without them. A stride of 0 stays 0, and overlapping windows stay so, where that takes less memory: the
// copy holds what is distinct and no more.
inline Strides compact_strides(const diopiSize_t& size, const diopiSize_t& stride) {
    Strides compact;
    compact.rank = size.len;
    std::int64_t order[kMaxRank];
    std::int64_t used = 0;
    for (std::int64_t i = size.len; i-- > 0;) {
        compact.values[i] = 0;
        if (stride.data[i] != 0 && size.data[i] > 1) {
            std::int64_t position = used++;
            for (; position > 0 && stride.data[order[position - 1]] > stride.data[i]; --position) {
                order[position] = order[position - 1];
            }
            order[position] = i;
        }
    }
    std::int64_t step = 1;
    for (std::int64_t position = 0; position < used; ++position) {
        compact.values[order[position]] = step;
        step *= size.data[order[position]];
    }
    if (extent(size, stride) <= step) {
        for (std::int64_t i = 0; i < size.len; ++i) {
            compact.values[i] = stride.data[i];
        }
    } else {
        for (std::int64_t i = 0; i < size.len; ++i) {
            compact.values[i] = size.data[i] == 1 ? 1 : compact.values[i];
        }
    }
    return compact;
}

// The sizes with one element where the stride is 0.
inline Strides sizes_without_repetition(const diopiSize_t& size, const diopiSize_t& stride) {
    Strides once;
    once.rank = size.len;
    for (std::int64_t i = 0; i < size.len; ++i) {
        once.values[i] = stride.data[i] == 0 ? 1 : size.data[i];
    }
    return once;
}

// Whether both strides lead to the same places, whatever stands for dimensions of one element.
inline bool same_strides(const diopiSize_t& size, const diopiSize_t& left, const diopiSize_t& right) {
    for (std::int64_t i = 0; i < size.len; ++i) {
        if (size.data[i] > 1 && left.data[i] != right.data[i]) {
            return false;
        }
    }
    return true;
}

inline bool same_sizes(const diopiSize_t& left, const diopiSize_t& right) {
    if (left.len != right.len) {
        return false;
    }
    for (std::int64_t i = 0; i < left.len; ++i) {
        if (left.data[i] != right.data[i]) {
            return false;
        }
    }
    return true;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_GEOMETRY_H_
