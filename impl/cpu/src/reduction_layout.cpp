#include "diopi_cpu/reduction_layout.h"

#include <algorithm>
#include <numeric>

namespace diopigen::cpu {

namespace {

// Dimensions by falling stride; those of size 1 take part nowhere.
std::vector<int64_t> memory_order_of(const Tensor& tensor) {
    std::vector<int64_t> dims(static_cast<size_t>(tensor.rank));
    std::iota(dims.begin(), dims.end(), 0);
    std::stable_sort(dims.begin(), dims.end(),
                     [&](int64_t a, int64_t b) { return std::abs(tensor.strides[a]) > std::abs(tensor.strides[b]); });
    return dims;
}

std::vector<int64_t> those(const std::vector<int64_t>& dims, const std::vector<bool>& flags, bool flag) {
    std::vector<int64_t> result;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(result),
                 [&](int64_t dim) { return flags[static_cast<size_t>(dim)] == flag; });
    return result;
}

bool is_walkable(const Tensor& tensor, const std::vector<int64_t>& order) {
    if (reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(size_of(tensor.dtype)) != 0) {
        return false;
    }
    for (size_t k = order.size(); k-- > 0;) {
        if (tensor.shape[order[k]] != 1) {
            return tensor.strides[order[k]] == 1;
        }
    }
    return true;
}

}  // namespace

ReductionLayout::ReductionLayout(const Tensor& input, const Rows& rows, Walk walk)
    : data_(input.data), results_(rows.count), length_(rows.length) {
    std::vector<bool> is_reduced(static_cast<size_t>(input.rank), false);
    for (const int64_t dim : rows.reduced) {
        is_reduced[static_cast<size_t>(dim)] = true;
    }
    std::vector<int64_t> order = memory_order_of(input);
    const std::vector<int64_t> reduced = those(order, is_reduced, true);
    const bool is_logical = std::is_sorted(reduced.begin(), reduced.end());
    if (walk == Walk::kLogical && !is_logical) {
        order = rows.order();
    }
    for (const int64_t dim : those(order, is_reduced, false)) {
        if (input.shape[dim] != 1) {
            outer_in_order_.push_back(dim);
        }
    }
    outer_dims_ = outer_in_order_;
    std::sort(outer_dims_.begin(), outer_dims_.end());
    std::vector<bool> is_reduced_in_order;
    for (const int64_t dim : order) {
        is_reduced_in_order.push_back(is_reduced[static_cast<size_t>(dim)]);
    }
    const View view = permuted(input, order);
    if (input.numel == 0 || is_walkable(input, order)) {
        merge(view.tensor(), is_reduced_in_order);
        return;
    }
    copy_.allocate(input.numel * size_of(input.dtype));
    data_ = copy_.data();
    std::vector<int64_t> strides(order.size());
    int64_t stride = 1;
    for (size_t k = order.size(); k-- > 0;) {
        strides[k] = stride;
        stride *= view.tensor().shape[k];
    }
    Tensor full = input;
    full.data = copy_.data();
    const View dense(full, shape_of(view.tensor()), std::move(strides));
    copy_elements(dense.tensor(), view.tensor());
    merge(dense.tensor(), is_reduced_in_order);
}

void ReductionLayout::merge(const Tensor& tensor, const std::vector<bool>& is_reduced) {
    bool was_reduced = false;
    std::vector<Axis>* last = nullptr;
    for (int64_t k = 0; k < tensor.rank; ++k) {
        const Axis axis{tensor.shape[k], tensor.strides[k]};
        if (axis.size == 1) {
            continue;
        }
        const bool now_reduced = is_reduced[static_cast<size_t>(k)];
        if (last != nullptr && was_reduced == now_reduced && last->back().stride == axis.stride * axis.size) {
            last->back() = {last->back().size * axis.size, axis.stride};
        } else {
            last = now_reduced ? &reduced_ : &outer_;
            last->push_back(axis);
            was_reduced = now_reduced;
        }
    }
    if (last != nullptr) {
        is_inner_reduced_ = was_reduced;
        inner_ = last->back().size;
        last->pop_back();
    }
}

View ReductionLayout::arranged(const Tensor& out) const {
    if (out.is_null()) {
        return View(out, {}, {});
    }
    // Sizes of 1 tell nothing: the reduced dimensions are there or not.
    std::vector<int64_t> own;
    for (int64_t dim = 0; dim < out.rank; ++dim) {
        if (out.shape[dim] != 1) {
            own.push_back(dim);
        }
    }
    std::vector<int64_t> dims;
    for (const int64_t dim : outer_in_order_) {
        const auto number = std::lower_bound(outer_dims_.begin(), outer_dims_.end(), dim) - outer_dims_.begin();
        dims.push_back(own[static_cast<size_t>(number)]);
    }
    return permuted(out, dims);
}

int64_t offset_of(const std::vector<Axis>& axes, int64_t number) {
    int64_t offset = 0;
    for (size_t k = axes.size(); k-- > 0;) {
        offset += number % axes[k].size * axes[k].stride;
        number /= axes[k].size;
    }
    return offset;
}

int64_t count_of(const std::vector<Axis>& axes) {
    int64_t count = 1;
    for (const Axis& axis : axes) {
        count *= axis.size;
    }
    return count;
}

}  // namespace diopigen::cpu
