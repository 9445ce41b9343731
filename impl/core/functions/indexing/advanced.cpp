#include "advanced.h"

#include <utility>

#include "mask_selection.h"
#include "positions.h"

namespace diopigen::core {

namespace {

// One index tensor: positions in the dimensions that it stands for, seen as one.
struct Entry {
    std::vector<int64_t> shape;
    Buffer values;
    int64_t size = 1;
};

Entry from_positions(const Tensor& index, int64_t size) { return {shape_of(index), positions_in(index, size), size}; }

Entry from_mask(const Tensor& mask) {
    const MaskSelection selection(mask, shape_of(mask));
    return {{selection.count()}, selection.positions(), mask.numel};
}

// The shape that the entries broadcast to.
std::vector<int64_t> common_shape(const std::vector<Entry>& entries) {
    std::vector<int64_t> common;
    for (const Entry& entry : entries) {
        if (entry.shape.size() > common.size()) {
            common.insert(common.begin(), entry.shape.size() - common.size(), 1);
        }
    }
    for (const Entry& entry : entries) {
        for (size_t i = 1; i <= entry.shape.size(); ++i) {
            int64_t& size = common[common.size() - i];
            const int64_t own = entry.shape[entry.shape.size() - i];
            if (own != 1 && size != 1 && own != size) {
                fail("parameter 'indices' holds tensors that do not broadcast together: " +
                     shape_text(entry.shape.data(), static_cast<int64_t>(entry.shape.size())) + " and " +
                     shape_text(common.data(), static_cast<int64_t>(common.size())));
            }
            size = own == 1 ? size : own;
        }
    }
    return common;
}

}  // namespace

void Advanced::require_apart(const Tensor& written) const {
    for (const Tensor& index : tensors) {
        require_disjoint(written, index);
    }
}

Advanced advanced(const Tensor& input, const std::vector<Tensor>& indices) {
    Advanced result;
    std::vector<Entry> entries;
    std::vector<bool> is_indexed(static_cast<size_t>(input.rank), false);
    int64_t dim = 0;    // the next dimension of input
    int64_t first = 0;  // the dimension before which the indexed ones are
    bool is_apart = false;
    bool has_gap = false;
    for (const Tensor& index : indices) {
        if (index.is_null()) {
            has_gap = !entries.empty();
            ++dim;
            continue;
        }
        const bool is_mask = contains(kMask, index.dtype);
        const int64_t covered = is_mask ? index.rank : 1;
        for (int64_t k = 0; k < covered; ++k) {
            if (is_mask && index.shape[k] != input.shape[dim + k]) {
                fail("parameter 'indices' holds a mask of shape " + shape_text(index.shape, index.rank) +
                     " for dimensions of shape " + shape_text(input.shape + dim, index.rank));
            }
            is_indexed[dim + k] = true;
        }
        first = entries.empty() ? dim : first;
        is_apart = is_apart || has_gap;
        entries.push_back(is_mask ? from_mask(index) : from_positions(index, input.shape[dim]));
        result.tensors.push_back(index);
        dim += covered;
    }
    first = is_apart ? 0 : first;

    const std::vector<int64_t> common = common_shape(entries);
    result.count = product(common, 0, common.size());
    // Positions in the last dimension are where the sums begin, unless they repeat.
    const bool begins_with_last = !entries.empty() && entries.back().shape == common;
    result.memory = begins_with_last ? std::move(entries.back().values) : zero_positions(result.count);
    for (size_t i = entries.size(); i-- > 0;) {
        if (!begins_with_last || i + 1 < entries.size()) {
            add_positions(result.memory, common, entries[i].values, entries[i].shape, result.split.size);
        }
        result.split.size *= entries[i].size;
    }
    // The dimensions before, the indexed ones, the ones behind.
    for (const int part : {0, 1, 2}) {
        if (part == 1) {
            result.shape.insert(result.shape.end(), common.begin(), common.end());
        }
        for (int64_t k = 0; k < input.rank; ++k) {
            const int own = is_indexed[k] ? 1 : k < first && !is_apart ? 0 : 2;
            if (own != part) {
                continue;
            }
            result.order.push_back(k);
            if (part != 1) {
                result.shape.push_back(input.shape[k]);
                (part == 0 ? result.split.outer : result.split.inner) *= input.shape[k];
            }
        }
    }
    return result;
}

}  // namespace diopigen::core
