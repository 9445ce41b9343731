// Points in the cells of a grid, for the libraries of all devices. `Each` is how a library calls an object for all
// owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_VOXELS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_VOXELS_H_

#include <vector>

#include "detection.h"
#include "detection/numbers.h"
#include "diopi_core/kernel_checks.h"
#include "indexing/positions.h"

namespace diopigen::core {

constexpr int64_t kAxes = 3;

// ---- The cell of each point. ----

struct CellGrid {
    float least[kAxes];
    float size[kAxes];
    float count[kAxes];
};

// The number of cells is rounded in float. Sizes are above 0.
CellGrid cell_grid(const Tensor& voxel_size, const Tensor& coors_range);

// An owner for each point: its cell as [points, (z, y, x)], -1 throughout where it is outside. T is float or double, to
// which both steps are rounded, so that borders are those of other implementations.
template <typename T>
struct FindCells {
    Int64* to;
    const T* points;
    int64_t features;
    CellGrid grid;

    DIOPI_HOST_DEVICE void operator()(int64_t point) const {
        T cell[kAxes];
        bool is_inside = true;
        for (int64_t axis = 0; axis < kAxes; ++axis) {
            const T distance = points[point * features + axis] - static_cast<T>(grid.least[axis]);
            cell[axis] = numeric::floor(distance / static_cast<T>(grid.size[axis]));
            is_inside = is_inside && cell[axis] >= 0 && cell[axis] < static_cast<T>(grid.count[axis]);
        }
        for (int64_t axis = 0; axis < kAxes; ++axis) {
            to[kAxes * point + kAxes - 1 - axis] = Int64(is_inside ? static_cast<int64_t>(cell[axis]) : -1);
        }
    }
};

template <typename Each>
void find_cells(const Each& each, Int64* to, const Tensor& points, const CellGrid& grid) {
    dispatch_compute<kFloating>(points.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> from(points);
        each(points.shape[0], 16, FindCells<T>{to, from.data(), points.shape[1], grid});
    });
}

template <typename Each>
void dynamic_voxelize(const Each& each, const entry::DynamicVoxelizeMmcvArgs& args) {
    require_apart(args.coors, {&args.points, &args.voxel_size, &args.coors_range});
    const CellGrid grid = cell_grid(args.voxel_size, args.coors_range);
    const Output<Int64> to(args.coors);
    find_cells(each, to.data(), args.points, grid);
    to.store();
}

// ---- Voxels of bounded number and size. ----

struct Voxels {
    std::vector<int64_t> slot;    // of each point among all voxels' room, -1: dropped
    std::vector<int64_t> cells;   // [voxels, (z, y, x)]
    std::vector<int64_t> counts;  // points of each voxel
};

// A voxel for each occupied cell, in the order of its first point.
Voxels fill_voxels(const std::vector<int64_t>& cells, int64_t max_points, int64_t max_voxels);

// An owner for each element of the points.
template <typename W>
struct MovePoints {
    W* to;
    const W* from;
    const int64_t* slot;
    int64_t features;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t target = slot[at / features];
        if (target >= 0) {
            to[target * features + at % features] = from[at];
        }
    }
};

template <typename Each>
void hard_voxelize(const Each& each, const entry::HardVoxelizeMmcvArgs& args) {
    require_separate({&args.voxels, &args.coors, &args.num_points_per_voxel, &args.voxel_num},
                     {&args.points, &args.voxel_size, &args.coors_range});
    const CellGrid grid = cell_grid(args.voxel_size, args.coors_range);
    const int64_t count = args.points.shape[0];
    Buffer memory;
    memory.allocate(kAxes * count * static_cast<int64_t>(sizeof(Int64)));
    auto* const cells = static_cast<Int64*>(memory.data());
    find_cells(each, cells, args.points, grid);
    const Voxels voxels = fill_voxels(integers_at(cells, kAxes * count), args.max_points, args.max_voxels);
    const auto found = static_cast<int64_t>(voxels.counts.size());
    const Buffer slots = list_for_kernels(voxels.slot);
    dispatch_word(args.points.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(args.points);
        const Changed to(args.voxels, args.voxels.dtype);
        each(args.points.numel, 4,
             MovePoints<W>{to.as<W>(), from.as<W>(), static_cast<const int64_t*>(slots.data()), args.points.shape[1]});
        to.store();
    });
    const View used = narrowed(args.coors, 0, 0, found);
    const View counts = narrowed(args.num_points_per_voxel, 0, 0, found);
    if (found > 0) {
        const Temporary rows({found, kAxes}, Dtype::kInt64, args.coors);
        store_list(rows.tensor(), voxels.cells);
        copy_elements(used.tensor(), rows.tensor());
        const Temporary numbers({found}, Dtype::kInt64, args.coors);
        store_list(numbers.tensor(), voxels.counts);
        copy_elements(counts.tensor(), numbers.tensor());
    }
    store_number(args.voxel_num, found);
}

// ---- Groups of points by their voxel. ----

struct PointGroups {
    std::vector<int64_t> cells;     // [groups, axes], in lexicographic order
    std::vector<int64_t> group_of;  // of each point, -1 for none
    std::vector<int64_t> counts;    // points of each group
    std::vector<int64_t> first;     // of each group, and one behind the last: where its points are in `points`
    std::vector<int64_t> points;    // by group, in their order
};

// A point with a negative coordinate belongs to no group.
PointGroups group_points_by_cell(const std::vector<int64_t>& cells, int64_t count, int64_t axes);

enum class Reduced : int64_t { kSum = 0, kMean = 1, kMaximum = 2 };

// An owner for each group and feature.
struct ReduceGroups {
    double* to;
    const double* from;
    const int64_t* first;
    const int64_t* points;
    int64_t features;
    Reduced how;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t group = at / features;
        const int64_t feature = at % features;
        double result = from[points[first[group]] * features + feature];
        for (int64_t i = first[group] + 1; i < first[group + 1]; ++i) {
            const double value = from[points[i] * features + feature];
            result = how != Reduced::kMaximum ? result + value : value > result ? value : result;
        }
        to[at] = how == Reduced::kMean ? result / static_cast<double>(first[group + 1] - first[group]) : result;
    }
};

template <typename Each>
void reduce_by_voxel(const Each& each, const entry::DynamicPointToVoxelMmcvArgs& args) {
    const int64_t count = args.coors.shape[0];
    const int64_t axes = args.coors.shape[1];
    const int64_t features = args.feats.shape[1];
    const PointGroups groups = group_points_by_cell(integers_of(args.coors), count, axes);
    const auto found = static_cast<int64_t>(groups.counts.size());
    const Tensor reduced = new_tensor(args.ctx, "outlist", {found, features}, args.feats.dtype, args.feats);
    const Tensor cells = new_tensor(args.ctx, "outlist", {found, axes}, args.coors.dtype, args.coors);
    const Tensor group_of = new_tensor(args.ctx, "outlist", {count}, Dtype::kInt32, args.coors);
    const Tensor counts = new_tensor(args.ctx, "outlist", {found}, Dtype::kInt32, args.coors);
    const Buffer first = list_for_kernels(groups.first);
    const Buffer points = list_for_kernels(groups.points);
    const Input<double> from(args.feats);
    const Output<double> to(reduced);
    each(reduced.numel, 4 * count / (found + 1),
         ReduceGroups{to.data(), from.data(), static_cast<const int64_t*>(first.data()),
                      static_cast<const int64_t*>(points.data()), features, static_cast<Reduced>(args.reduce_type)});
    to.store();
    store_list(cells, groups.cells);
    store_list(group_of, groups.group_of);
    store_list(counts, groups.counts);
    const Tensor* results[] = {&reduced, &cells, &group_of, &counts};
    for (int k = 0; k < 4; ++k) {
        args.outlist[k] = results[k]->handle;
    }
}

// An owner for each element of the features: of sums and means.
struct GroupGradient {
    double* to;
    const double* gradient;
    const Int64* group_of;
    const Int64* counts;  // null for sums
    int64_t features;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t group = group_of[at / features].value;
        if (group < 0) {
            to[at] = 0;
            return;
        }
        const double grad_out = gradient[group * features + at % features];
        to[at] = counts == nullptr ? grad_out : grad_out / static_cast<double>(counts[group].value);
    }
};

// An owner for each feature: the first point that equals the maximum of its group gets the gradient.
struct MaximumGradient {
    double* to;
    double* is_taken;  // [groups, features]
    const double* gradient;
    const double* from;
    const double* maxima;
    const Int64* group_of;
    int64_t points;
    int64_t groups;
    int64_t features;

    DIOPI_HOST_DEVICE void operator()(int64_t feature) const {
        for (int64_t group = 0; group < groups; ++group) {
            is_taken[group * features + feature] = 0;
        }
        for (int64_t point = 0; point < points; ++point) {
            const int64_t group = group_of[point].value;
            const int64_t at = group * features + feature;
            const bool is_first = group >= 0 && is_taken[at] == 0 && from[point * features + feature] == maxima[at];
            to[point * features + feature] = is_first ? gradient[at] : 0;
            if (is_first) {
                is_taken[at] = 1;
            }
        }
    }
};

template <typename Each>
void reduce_by_voxel_backward(const Each& each, const entry::DynamicPointToVoxelBackwardMmcvArgs& args) {
    require_apart(args.grad_feats,
                  {&args.grad_reduced_feats, &args.feats, &args.reduced_feats, &args.coors_idx, &args.reduce_count});
    const int64_t features = args.feats.shape[1];
    const int64_t groups = args.grad_reduced_feats.shape[0];
    const auto how = static_cast<Reduced>(args.reduce_type);
    const Input<Int64> group_of(args.coors_idx);
    check_positions(args.coors_idx, group_of, -1, groups);
    const Input<Int64> counts(args.reduce_count);
    const Input<double> gradient(args.grad_reduced_feats);
    const Output<double> to(args.grad_feats);
    if (how == Reduced::kMaximum) {
        const Input<double> from(args.feats);
        const Input<double> maxima(args.reduced_feats);
        const Numbers is_taken(groups * features);
        each(features, 4 * args.feats.shape[0],
             MaximumGradient{to.data(), is_taken.data(), gradient.data(), from.data(), maxima.data(), group_of.data(),
                             args.feats.shape[0], groups, features});
    } else {
        each(args.feats.numel, 4,
             GroupGradient{to.data(), gradient.data(), group_of.data(), how == Reduced::kMean ? counts.data() : nullptr,
                           features});
    }
    to.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_VOXELS_H_
