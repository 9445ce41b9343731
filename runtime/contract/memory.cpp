#include "memory.h"

#include <algorithm>
#include <array>
#include <string>

#include "dtypes.h"

namespace diopigen::contract {

namespace {

// Sums of `coefficient * step` with whole coefficients in [least, most].
struct Term {
    int64_t step;  // in bytes, above 0
    int64_t least;
    int64_t most;
};

// Whether terms can add up to what is near a number. Terms are tried from the largest step down: what the others can
// reach leaves few coefficients to each. Strides that leave too many are taken for disjoint, as PyTorch does where it
// cannot tell.
class Sums {
  public:
    void add(int64_t step, int64_t least, int64_t most) {
        if (step == 0 || least == most) {
            offset_ += step * least;
        } else if (count_ < terms_.size()) {
            terms_[count_++] = step > 0 ? Term{step, least, most} : Term{-step, -most, -least};
        }
    }

    // Whether a sum is between two numbers, neither of which counts.
    bool reach(int64_t below, int64_t above) {
        std::sort(terms_.begin(), terms_.begin() + count_,
                  [](const Term& a, const Term& b) { return a.step > b.step; });
        int64_t low = 0;
        int64_t high = 0;
        for (size_t i = count_; i-- > 0;) {
            low_[i] = low;
            high_[i] = high;
            low += terms_[i].step * terms_[i].least;
            high += terms_[i].step * terms_[i].most;
        }
        return from(0, below - offset_, above - offset_);
    }

  private:
    static constexpr int kMostTries = 4096;

    static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

    bool from(size_t i, int64_t below, int64_t above) {
        if (i == count_) {
            return below < 0 && 0 < above;
        }
        const Term& term = terms_[i];
        const int64_t first = std::max(term.least, -floor_div(-(below + 1 - high_[i]), term.step));
        const int64_t last = std::min(term.most, floor_div(above - 1 - low_[i], term.step));
        for (int64_t k = first; k <= last; ++k) {
            if (++tries_ > kMostTries) {
                return false;
            }
            if (from(i + 1, below - k * term.step, above - k * term.step)) {
                return true;
            }
        }
        return false;
    }

    std::array<Term, 128> terms_;
    std::array<int64_t, 128> low_;   // what the terms behind a term reach at least
    std::array<int64_t, 128> high_;  // and at most
    size_t count_ = 0;
    int64_t offset_ = 0;
    int tries_ = 0;
};

struct Extent {
    const char* begin = nullptr;
    const char* end = nullptr;
};

// Empty for a tensor without elements, and for a sparse one.
Extent extent_of(const TensorView& tensor) {
    const auto* const data = static_cast<const char*>(tensor.data);
    if (data == nullptr || tensor.is_sparse) {
        return {};
    }
    int64_t below = 0;
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.shape.len; ++i) {
        if (tensor.shape.data[i] == 0) {
            return {};
        }
        const int64_t reach = (tensor.shape.data[i] - 1) * tensor.stride.data[i];
        (reach < 0 ? below : last) += reach;
    }
    const int64_t size = element_bytes(tensor.dtype);
    return {data + below * size, data + (last + 1) * size};
}

bool is_row_major(const TensorView& tensor) {
    int64_t step = 1;
    for (int64_t i = tensor.shape.len; i-- > 0;) {
        if (tensor.shape.data[i] != 1 && tensor.stride.data[i] != step) {
            return false;
        }
        step *= tensor.shape.data[i];
    }
    return true;
}

// The two questions of the header, of tensors whose extents are known.
bool overlaps_itself(const TensorView& tensor, const Extent& extent) {
    if (extent.begin == nullptr || is_row_major(tensor)) {
        return false;
    }
    const int64_t rank = tensor.shape.len;
    const int64_t size = element_bytes(tensor.dtype);
    // Two elements whose indices differ first in dimension i.
    for (int64_t i = 0; i < rank; ++i) {
        const int64_t most = tensor.shape.data[i] - 1;
        if (most == 0) {
            continue;
        }
        if (tensor.stride.data[i] == 0) {
            return true;
        }
        Sums sums;
        sums.add(tensor.stride.data[i] * size, 1, most);
        for (int64_t k = i + 1; k < rank; ++k) {
            const int64_t reach = tensor.shape.data[k] - 1;
            sums.add(tensor.stride.data[k] * size, -reach, reach);
        }
        if (sums.reach(-size, size)) {
            return true;
        }
    }
    return false;
}

bool shares_memory(const TensorView& a, const Extent& x, const TensorView& b, const Extent& y) {
    if (x.begin == nullptr || y.begin == nullptr || x.begin >= y.end || y.begin >= x.end) {
        return false;
    }
    if (is_row_major(a) && is_row_major(b)) {
        return true;
    }
    Sums sums;
    for (int64_t i = 0; i < a.shape.len; ++i) {
        sums.add(a.stride.data[i] * element_bytes(a.dtype), 0, a.shape.data[i] - 1);
    }
    for (int64_t i = 0; i < b.shape.len; ++i) {
        sums.add(b.stride.data[i] * element_bytes(b.dtype), 1 - b.shape.data[i], 0);
    }
    // The first byte of an element of `a` minus that of one of `b` is between minus the size of `a`'s and the size of
    // `b`'s.
    const int64_t distance = static_cast<const char*>(b.data) - static_cast<const char*>(a.data);
    return sums.reach(distance - element_bytes(a.dtype), distance + element_bytes(b.dtype));
}

}  // namespace

bool overlaps_itself(const TensorView& tensor) { return overlaps_itself(tensor, extent_of(tensor)); }
bool shares_memory(const TensorView& a, const TensorView& b) { return shares_memory(a, extent_of(a), b, extent_of(b)); }

bool has_same_elements(const TensorView& a, const TensorView& b) {
    if (a.data != b.data || a.dtype != b.dtype || a.shape.len != b.shape.len) {
        return false;
    }
    for (int64_t i = 0; i < a.shape.len; ++i) {
        const int64_t size = a.shape.data[i];
        if (size != b.shape.data[i] || (size > 1 && a.stride.data[i] != b.stride.data[i])) {
            return false;
        }
    }
    return true;
}

namespace {

// Whether the spec lets two outputs be one tensor.
bool may_be_one(const Parameter* rules, int one, int other) {
    return rules[one].shares == other || rules[other].shares == one;
}

}  // namespace

std::optional<Failure> overlap(const Parameter* rules, Operands operands, const CallTensors& tensors) {
    for (const CallTensor& one : tensors) {
        if (!one.operand->is_written() || one.view.is_null()) {
            continue;
        }
        const Extent extent = extent_of(one.view);
        if (overlaps_itself(one.view, extent)) {
            return Failure(diopiErrorOccurred,
                           "'" + std::string(one.operand->name) + "' has elements that share memory");
        }
        for (const CallTensor& other : tensors) {
            if (&one == &other || other.view.is_null() ||
                !shares_memory(one.view, extent, other.view, extent_of(other.view))) {
                continue;
            }
            const std::string names = "'" + std::string(one.operand->name) + "' and '" + other.operand->name + "'";
            if (!has_same_elements(one.view, other.view)) {
                return Failure(diopiErrorOccurred, names + " share a part of their memory");
            }
            const auto position = [&](const CallTensor& tensor) {
                return static_cast<int>(tensor.operand - operands.first);
            };
            if (other.operand->is_written() && !may_be_one(rules, position(one), position(other))) {
                return Failure(diopiErrorOccurred, names + " are both written and have the same memory");
            }
        }
    }
    return std::nullopt;
}

}  // namespace diopigen::contract
