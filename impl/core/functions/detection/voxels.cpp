// What the host decides about voxels.
#include "detection/voxels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace diopigen::core {

namespace {

using Cell = std::array<int64_t, kAxes>;

struct HashOfCell {
    size_t operator()(const Cell& cell) const {
        size_t hash = 0;
        for (const int64_t position : cell) {
            hash = hash * 1000003 + static_cast<size_t>(position);
        }
        return hash;
    }
};

}  // namespace

CellGrid cell_grid(const Tensor& voxel_size, const Tensor& coors_range) {
    const std::vector<float> sizes = floats_of(voxel_size);
    const std::vector<float> range = floats_of(coors_range);
    CellGrid grid{};
    for (size_t axis = 0; axis < kAxes; ++axis) {
        require(sizes[axis] > 0, "parameter 'voxel_size': every entry must be above 0");
        grid.least[axis] = range[axis];
        grid.size[axis] = sizes[axis];
        grid.count[axis] = std::round((range[axis + kAxes] - range[axis]) / sizes[axis]);
    }
    return grid;
}

Voxels fill_voxels(const std::vector<int64_t>& cells, int64_t max_points, int64_t max_voxels) {
    Voxels voxels;
    std::unordered_map<Cell, int64_t, HashOfCell> voxel_of;
    for (auto cell = cells.begin(); cell != cells.end(); cell += kAxes) {
        voxels.slot.push_back(-1);
        if (*cell < 0) {
            continue;
        }
        const Cell key{cell[0], cell[1], cell[2]};
        auto found = voxel_of.find(key);
        if (found == voxel_of.end()) {
            const auto count = static_cast<int64_t>(voxels.counts.size());
            if (count == max_voxels) {
                continue;
            }
            found = voxel_of.emplace(key, count).first;
            voxels.cells.insert(voxels.cells.end(), key.begin(), key.end());
            voxels.counts.push_back(0);
        }
        int64_t& count = voxels.counts[static_cast<size_t>(found->second)];
        if (count < max_points) {
            voxels.slot.back() = found->second * max_points + count;
            ++count;
        }
    }
    return voxels;
}

PointGroups group_points_by_cell(const std::vector<int64_t>& cells, int64_t count, int64_t axes) {
    const auto cell = [&](int64_t point) { return cells.begin() + point * axes; };
    PointGroups groups;
    for (int64_t point = 0; point < count; ++point) {
        if (std::none_of(cell(point), cell(point) + axes, [](int64_t position) { return position < 0; })) {
            groups.points.push_back(point);
        }
    }
    std::stable_sort(groups.points.begin(), groups.points.end(), [&](int64_t a, int64_t b) {
        return std::lexicographical_compare(cell(a), cell(a) + axes, cell(b), cell(b) + axes);
    });
    groups.group_of.assign(static_cast<size_t>(count), -1);
    for (size_t i = 0; i < groups.points.size(); ++i) {
        const int64_t point = groups.points[i];
        const bool is_same = i > 0 && std::equal(cell(point), cell(point) + axes, cell(groups.points[i - 1]));
        if (!is_same) {
            groups.cells.insert(groups.cells.end(), cell(point), cell(point) + axes);
            groups.counts.push_back(0);
            groups.first.push_back(static_cast<int64_t>(i));
        }
        ++groups.counts.back();
        groups.group_of[static_cast<size_t>(point)] = static_cast<int64_t>(groups.counts.size()) - 1;
    }
    groups.first.push_back(static_cast<int64_t>(groups.points.size()));
    return groups;
}

}  // namespace diopigen::core
