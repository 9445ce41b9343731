#include "shapes.h"

#include <algorithm>
#include <utility>

namespace diopigen::contract {

namespace {

int64_t rankOf(const Sizes& shape) { return static_cast<int64_t>(shape.size()); }

int64_t floorDivide(int64_t value, int64_t divisor) {
    const int64_t quotient = value / divisor;
    return quotient - ((value % divisor != 0 && (value < 0) != (divisor < 0)) ? 1 : 0);
}

int64_t ceilDivide(int64_t value, int64_t divisor) { return -floorDivide(-value, divisor); }

// Far from where products of two of them overflow: no tensor has more elements in a dimension, no window is longer.
bool isModest(const Sizes& values) {
    constexpr int64_t kLimit = int64_t{1} << 31;
    return std::all_of(values.begin(), values.end(), [](int64_t value) { return value >= -kLimit && value <= kLimit; });
}

// One value for each window dimension: a single one is repeated, none stands for the fallback.
bool each(const Sizes& values, size_t count, Sizes& result, const Sizes& fallback = {}, bool isDivisor = false) {
    result = values.empty() ? fallback : values;
    if (result.size() == 1) {
        result.assign(count, result[0]);
    }
    return result.size() == count && (isDivisor || isModest(result));
}

}  // namespace

bool axisOf(int64_t dim, int64_t rank, int64_t& axis) {
    const int64_t span = std::max<int64_t>(rank, 1);
    axis = dim < 0 ? dim + span : dim;
    return axis >= 0 && axis < span;
}

bool broadcast(const Sizes& first, const Sizes& second, Sizes& result) {
    const Sizes& longer = first.size() >= second.size() ? first : second;
    const Sizes& shorter = first.size() >= second.size() ? second : first;
    Sizes found = longer;
    const size_t offset = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i) {
        int64_t& size = found[offset + i];
        if (size == 1) {
            size = shorter[i];
        } else if (shorter[i] != 1 && shorter[i] != size) {
            return false;
        }
    }
    result = std::move(found);
    return true;
}

bool reduce(const Sizes& shape, const Sizes& dims, bool keepdim, Sizes& result) {
    std::vector<bool> gone(std::max<size_t>(shape.size(), 1), dims.empty());
    for (const int64_t dim : dims) {
        int64_t axis = 0;
        if (!axisOf(dim, rankOf(shape), axis)) {
            return false;
        }
        gone[static_cast<size_t>(axis)] = true;
    }
    Sizes found;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (!gone[i]) {
            found.push_back(shape[i]);
        } else if (keepdim) {
            found.push_back(1);
        }
    }
    result = std::move(found);
    return true;
}

bool without(const Sizes& shape, int64_t dim, Sizes& result) {
    int64_t axis = 0;
    if (!axisOf(dim, rankOf(shape), axis)) {
        return false;
    }
    Sizes found = shape;
    if (!found.empty()) {
        found.erase(found.begin() + axis);
    }
    result = std::move(found);
    return true;
}

bool resize(const Sizes& shape, int64_t dim, int64_t size, Sizes& result) {
    if (shape.empty()) {
        result = size == 1 ? Sizes{} : Sizes{size};
        return true;
    }
    int64_t axis = 0;
    if (!axisOf(dim, rankOf(shape), axis)) {
        return false;
    }
    Sizes found = shape;
    found[static_cast<size_t>(axis)] = size;
    result = std::move(found);
    return true;
}

bool matmul(const Sizes& first, const Sizes& second, Sizes& result) {
    if (first.empty() || second.empty()) {
        return false;
    }
    Sizes left = first;
    Sizes right = second;
    if (left.size() == 1) {
        left.insert(left.begin(), 1);
    }
    if (right.size() == 1) {
        right.push_back(1);
    }
    if (left.back() != right[right.size() - 2]) {
        return false;
    }
    Sizes found;
    if (!broadcast(Sizes(left.begin(), left.end() - 2), Sizes(right.begin(), right.end() - 2), found)) {
        return false;
    }
    if (first.size() > 1) {
        found.push_back(left[left.size() - 2]);
    }
    if (second.size() > 1) {
        found.push_back(right.back());
    }
    result = std::move(found);
    return true;
}

bool conv(const Sizes& shape, const Sizes& weight, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
          Sizes& result) {
    if (weight.size() < 3 || shape.size() < weight.size() - 1 || !isModest(weight) || !isModest(shape)) {
        return false;
    }
    const size_t count = weight.size() - 2;
    Sizes steps;
    Sizes pads;
    Sizes spreads;
    if (!each(stride, count, steps, {}, /*isDivisor=*/true) || !each(padding, count, pads) ||
        !each(dilation, count, spreads)) {
        return false;
    }
    Sizes found(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count) - 1);
    found.push_back(weight[0]);
    for (size_t i = 0; i < count; ++i) {
        const int64_t size = shape[shape.size() - count + i];
        if (steps[i] < 1) {
            return false;
        }
        found.push_back(floorDivide(size + 2 * pads[i] - spreads[i] * (weight[2 + i] - 1) - 1, steps[i]) + 1);
    }
    result = std::move(found);
    return true;
}

bool convTranspose(const Sizes& shape, const Sizes& weight, const Sizes& stride, const Sizes& padding,
                   const Sizes& outputPadding, int64_t groups, const Sizes& dilation, Sizes& result) {
    if (weight.size() < 3 || shape.size() < weight.size() - 1 || !isModest(weight) || !isModest(shape)) {
        return false;
    }
    const size_t count = weight.size() - 2;
    Sizes steps;
    Sizes pads;
    Sizes extras;
    Sizes spreads;
    if (!each(stride, count, steps) || !each(padding, count, pads) || !each(outputPadding, count, extras) ||
        !each(dilation, count, spreads)) {
        return false;
    }
    Sizes found(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count) - 1);
    if (!isModest({groups})) {
        return false;
    }
    found.push_back(weight[1] * groups);
    for (size_t i = 0; i < count; ++i) {
        const int64_t size = shape[shape.size() - count + i];
        found.push_back((size - 1) * steps[i] - 2 * pads[i] + spreads[i] * (weight[2 + i] - 1) + extras[i] + 1);
    }
    result = std::move(found);
    return true;
}

bool pool(const Sizes& shape, const Sizes& kernel, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
          bool ceilMode, Sizes& result) {
    const size_t count = kernel.size();
    Sizes steps;
    Sizes pads;
    Sizes spreads;
    if (count == 0 || shape.size() < count || !isModest(shape) || !isModest(kernel) ||
        !each(stride, count, steps, kernel) || !each(padding, count, pads) || !each(dilation, count, spreads)) {
        return false;
    }
    Sizes found(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count));
    for (size_t i = 0; i < count; ++i) {
        const int64_t size = shape[shape.size() - count + i];
        if (steps[i] < 1) {
            return false;
        }
        const int64_t room = size + 2 * pads[i] - spreads[i] * (kernel[i] - 1) - 1;
        int64_t number = (ceilMode ? ceilDivide(room, steps[i]) : floorDivide(room, steps[i])) + 1;
        if (ceilMode && (number - 1) * steps[i] >= size + pads[i]) {
            --number;
        }
        found.push_back(number);
    }
    result = std::move(found);
    return true;
}

bool adaptivePool(const Sizes& shape, const Sizes& output, Sizes& result) {
    if (shape.size() < output.size()) {
        return false;
    }
    Sizes found(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(output.size()));
    found.insert(found.end(), output.begin(), output.end());
    result = std::move(found);
    return true;
}

bool concat(const std::vector<Sizes>& shapes, int64_t dim, Sizes& result) {
    const Sizes* first = nullptr;
    int64_t axis = 0;
    int64_t total = 0;
    for (const Sizes& shape : shapes) {
        if (shape == Sizes{0}) {
            continue;  // as in torch.cat
        }
        if (first == nullptr) {
            first = &shape;
            if (shape.empty() || !axisOf(dim, rankOf(shape), axis)) {
                return false;
            }
        }
        Sizes own;
        Sizes other;
        if (shape.size() != first->size() || !without(shape, axis, own) || !without(*first, axis, other) ||
            own != other) {
            return false;
        }
        total += shape[static_cast<size_t>(axis)];
    }
    if (first == nullptr) {
        result = {0};
        return true;
    }
    return resize(*first, axis, total, result);
}

bool stack(const std::vector<Sizes>& shapes, int64_t dim, Sizes& result) {
    int64_t axis = 0;
    if (shapes.empty() || !axisOf(dim, rankOf(shapes[0]) + 1, axis)) {
        return false;
    }
    if (!std::all_of(shapes.begin(), shapes.end(), [&](const Sizes& shape) { return shape == shapes[0]; })) {
        return false;
    }
    Sizes found = shapes[0];
    found.insert(found.begin() + axis, static_cast<int64_t>(shapes.size()));
    result = std::move(found);
    return true;
}

bool permute(const Sizes& shape, const Sizes& order, Sizes& result) {
    Sizes found;
    for (const int64_t dim : order) {
        int64_t axis = 0;
        if (shape.empty() || !axisOf(dim, rankOf(shape), axis)) {
            return false;
        }
        found.push_back(shape[static_cast<size_t>(axis)]);
    }
    result = std::move(found);
    return true;
}

bool transpose(const Sizes& shape, int64_t first, int64_t second, Sizes& result) {
    Sizes found = shape;
    int64_t one = 0;
    int64_t two = 0;
    if (!axisOf(first, rankOf(shape), one) || !axisOf(second, rankOf(shape), two)) {
        return false;
    }
    if (!found.empty()) {
        std::swap(found[static_cast<size_t>(one)], found[static_cast<size_t>(two)]);
    }
    result = std::move(found);
    return true;
}

bool repeat(const Sizes& shape, const Sizes& times, Sizes& result) {
    if (times.size() < shape.size() || !isModest(times) || !isModest(shape)) {
        return false;
    }
    Sizes found = times;
    const size_t offset = times.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
        found[offset + i] *= shape[i];
    }
    result = std::move(found);
    return true;
}

bool pad(const Sizes& shape, const Sizes& pads, Sizes& result) {
    if (pads.size() / 2 > shape.size() || !isModest(pads)) {
        return false;
    }
    Sizes found = shape;
    for (size_t pair = 0; pair < pads.size() / 2; ++pair) {
        found[found.size() - 1 - pair] += pads[2 * pair] + pads[2 * pair + 1];
    }
    result = std::move(found);
    return true;
}

bool unfold(const Sizes& shape, int64_t dim, int64_t size, int64_t step, Sizes& result) {
    if (!isModest({size})) {
        return false;
    }
    if (shape.empty()) {
        result = {size};
        return true;
    }
    int64_t axis = 0;
    if (step < 1 || !axisOf(dim, rankOf(shape), axis)) {
        return false;
    }
    Sizes found = shape;
    int64_t& windows = found[static_cast<size_t>(axis)];
    windows = floorDivide(windows - size, step) + 1;
    found.push_back(size);
    result = std::move(found);
    return true;
}

bool slice(const Sizes& shape, int64_t dim, int64_t start, int64_t end, int64_t step, Sizes& result) {
    int64_t axis = 0;
    if (shape.empty() || step < 1 || !axisOf(dim, rankOf(shape), axis)) {
        return false;
    }
    const int64_t size = shape[static_cast<size_t>(axis)];
    const auto clamped = [size](int64_t index) {
        index = index < 0 ? index + size : index;
        return std::min(std::max<int64_t>(index, 0), size);
    };
    const int64_t length = std::max<int64_t>(clamped(end) - clamped(start), 0);
    return resize(shape, axis, ceilDivide(length, step), result);
}

}  // namespace diopigen::contract
