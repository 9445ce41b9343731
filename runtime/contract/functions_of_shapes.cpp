#include <algorithm>
#include <utility>

#include "functions.h"
#include "shapes.h"

namespace diopigen::contract {

bool axis_of(int64_t dim, int64_t rank, int64_t& axis) {
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

namespace functions {

std::optional<int64_t> axis(const Sizes& shape, int64_t dim) {
    int64_t found = 0;
    return axis_of(dim, static_cast<int64_t>(shape.size()), found) ? std::optional(found) : std::nullopt;
}

std::optional<bool> broadcasts(const Values& shapes) { return broadcast(shapes).has_value(); }

// Numbers count as 0-d.
std::optional<Sizes> broadcast(const Values& extents) {
    Sizes joined;
    const auto add = [&](const Sizes& one) { return contract::broadcast(Sizes(joined), one, joined); };
    for (const Value& extent : extents) {
        const bool fits = extent.type == Value::Type::kTensors
                              ? std::all_of(extent.tensors.begin(), extent.tensors.end(),
                                            [&](const TensorView& one) { return add(one.sizes()); })
                              : !(extent.type == Value::Type::kTensor || is_many(extent)) || add(sizes_of(extent));
        if (!fits) {
            return std::nullopt;
        }
    }
    return joined;
}

// Without any named, all dimensions.
std::optional<Sizes> reduce(const Sizes& shape, const Sizes& dims, bool keepdim) {
    std::vector<bool> gone(std::max<size_t>(shape.size(), 1), dims.empty());
    for (const int64_t dim : dims) {
        const std::optional<int64_t> at = axis(shape, dim);
        if (!at) {
            return std::nullopt;
        }
        gone[static_cast<size_t>(*at)] = true;
    }
    Sizes found;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (!gone[i] || keepdim) {
            found.push_back(gone[i] ? 1 : shape[i]);
        }
    }
    return found;
}

std::optional<Sizes> concat(const TensorArray& tensors, int64_t dim) {
    Sizes joined{0};
    bool is_first = true;
    for (const TensorView& tensor : tensors) {
        Sizes shape = tensor.sizes();
        if (shape == Sizes{0}) {
            continue;  // as in torch.cat
        }
        const std::optional<int64_t> at = shape.empty() ? std::nullopt : axis(shape, dim);
        if (!at) {
            return std::nullopt;
        }
        if (is_first) {
            joined = std::move(shape);
            is_first = false;
            continue;
        }
        if (shape.size() != joined.size()) {
            return std::nullopt;
        }
        int64_t& total = joined[static_cast<size_t>(*at)];
        const int64_t own = std::exchange(shape[static_cast<size_t>(*at)], total);
        if (shape != joined) {
            return std::nullopt;
        }
        total += own;
    }
    return joined;
}

}  // namespace functions

}  // namespace diopigen::contract
