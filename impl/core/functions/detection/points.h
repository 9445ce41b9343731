// Functions over clouds of points, for the libraries of all devices. `Each` is how a library calls an object for all
// owners: each(count, cost, body) calls body(i) for i in [0, count), each about `cost` steps, in any order.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_POINTS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_POINTS_H_

#include <limits>
#include <vector>

#include "detection.h"
#include "detection/detection_kernels.h"
#include "detection/numbers.h"
#include "detection/point_features.h"
#include "detection/point_neighbours.h"
#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"
#include "indexing/positions.h"

namespace diopigen::core {

// Clouds that are joined, by the numbers of their points and centres.
class StackedClouds {
  public:
    StackedClouds(const Tensor& point_counts, int64_t points, const Tensor& centre_counts, int64_t centres) {
        const std::vector<double> of_points = numbers_of(point_counts);
        const std::vector<double> of_centres = numbers_of(centre_counts);
        Cloud cloud{0, 0, 0, 0};
        for (size_t b = 0; b < of_points.size(); ++b) {
            require(of_points[b] >= 0 && of_centres[b] >= 0, "C1: no cloud has a negative number of points or centres");
            cloud = {cloud.point + cloud.points, static_cast<int64_t>(of_points[b]), cloud.centre + cloud.centres,
                     static_cast<int64_t>(of_centres[b])};
            require(cloud.points <= points - cloud.point && cloud.centres <= centres - cloud.centre, kSums);
            clouds_.push_back(cloud);
            cloud_of_.insert(cloud_of_.end(), static_cast<size_t>(cloud.centres), static_cast<int64_t>(b));
        }
        require(cloud.point + cloud.points == points && cloud.centre + cloud.centres == centres, kSums);
        memory_ = list_for_kernels(clouds_);
        cloud_of_memory_ = list_for_kernels(cloud_of_);
    }

    const std::vector<Cloud>& list() const { return clouds_; }
    const Cloud* data() const { return static_cast<const Cloud*>(memory_.data()); }
    // Of each centre.
    const int64_t* cloud_of() const { return static_cast<const int64_t*>(cloud_of_memory_.data()); }

  private:
    static constexpr const char* kSums = "C1: the counts of the clouds add up to the numbers of points and centres";

    std::vector<Cloud> clouds_;
    std::vector<int64_t> cloud_of_;
    Buffer memory_;
    Buffer cloud_of_memory_;
};

// ---- Features by index. ----

// GatherPoints and GroupPoints: each of `picks` for a cloud.
template <typename Each>
void pick_points(const Each& each, const Tensor& out, const Tensor& points, const Tensor& idx, int64_t picks) {
    require_apart(out, {&points, &idx});
    const Positions indices(idx, points.shape[2]);
    dispatch_word(points.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(points);
        const RawOutput to(out);
        each.rows(points.shape[0] * points.shape[1], picks, 1,
                  PickPoints<W>{to.as<W>(), from.as<W>(), indices.data(), points.shape[1], points.shape[2], picks});
        to.store();
    });
}

template <typename Each>
void add_picked(const Each& each, const Tensor& grad_points, const Tensor& grad_out, const Tensor& idx, int64_t picks) {
    require_apart(grad_points, {&grad_out, &idx});
    const int64_t channels = grad_points.shape[1];
    const int64_t points = grad_points.shape[2];
    const Positions indices(idx, points);
    const Input<double> gradient(grad_out);
    const Sums sums(grad_points);
    each(grad_points.shape[0] * channels, picks,
         AddPicked{sums.data(), gradient.data(), indices.data(), channels, points, picks});
    sums.store();
}

template <typename Each>
void stack_group_points(const Each& each, const entry::StackGroupPointsMmcvArgs& args) {
    require_apart(args.out_tensor, {&args.features_tensor, &args.features_batch_cnt_tensor, &args.idx_tensor,
                                    &args.idx_batch_cnt_tensor});
    const StackedClouds clouds(args.features_batch_cnt_tensor, args.features_tensor.shape[0], args.idx_batch_cnt_tensor,
                               args.m);
    const Positions indices(args.idx_tensor, std::numeric_limits<int64_t>::max());
    dispatch_word(args.features_tensor.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(args.features_tensor);
        const Changed to(args.out_tensor, args.out_tensor.dtype);
        each(args.out_tensor.numel, 1,
             PickStacked<W>{to.as<W>(), from.as<W>(), indices.data(), clouds.data(), clouds.cloud_of(), args.c,
                            args.nsample});
        to.store();
    });
}

template <typename Each>
void stack_group_points_backward(const Each& each, const entry::StackGroupPointsBackwardMmcvArgs& args) {
    require_apart(args.grad_features_tensor, {&args.grad_out_tensor, &args.features_batch_cnt_tensor, &args.idx_tensor,
                                              &args.idx_batch_cnt_tensor});
    const StackedClouds clouds(args.features_batch_cnt_tensor, args.n, args.idx_batch_cnt_tensor, args.m);
    for (const Cloud& cloud : clouds.list()) {
        const View rows = narrowed(args.idx_tensor, 0, cloud.centre, cloud.centres);
        const Positions in_cloud(rows.tensor(), cloud.points);
    }
    const Input<Int64> indices(args.idx_tensor);
    const Input<double> gradient(args.grad_out_tensor);
    const Sums sums(args.grad_features_tensor);
    const auto count = static_cast<int64_t>(clouds.list().size());
    each(count * args.c, args.m * args.nsample / (count + 1),
         AddStacked{sums.data(), gradient.data(), indices.data(), clouds.data(), args.c, args.nsample});
    sums.store();
}

template <typename Each>
void three_interpolate(const Each& each, const entry::ThreeInterpolateMmcvArgs& args) {
    require_apart(args.out, {&args.points, &args.idx, &args.weight});
    const Positions indices(args.idx, args.m);
    const Input<double> from(args.points);
    const Input<double> weights(args.weight);
    const Output<double> to(args.out);
    each(args.out.numel, 3,
         Interpolate{to.data(), from.data(), indices.data(), weights.data(), args.c, args.m, args.n});
    to.store();
}

template <typename Each>
void three_interpolate_backward(const Each& each, const entry::ThreeInterpolateBackwardMmcvArgs& args) {
    require_apart(args.grad_points, {&args.grad_out, &args.idx, &args.weight});
    const Positions indices(args.idx, args.m);
    const Input<double> gradient(args.grad_out);
    const Input<double> weights(args.weight);
    const Sums sums(args.grad_points);
    each(args.b * args.c, 3 * args.n,
         AddInterpolated{sums.data(), gradient.data(), indices.data(), weights.data(), args.c, args.m, args.n});
    sums.store();
}

// ---- Neighbours. ----

// The `size` nearest points of each centre, [clouds, centres, 3].
template <typename Each>
void find_nearest(const Each& each, const Tensor& distances, const Tensor& indices, const Tensor& centres,
                  const Tensor& points, int64_t size, double none) {
    require_separate({&distances, &indices}, {&centres, &points});
    const Input<double> from(centres);
    const Input<double> to(points);
    const Output<double> near(distances);
    const Output<Int32> found(indices);
    each(centres.shape[0] * centres.shape[1], 4 * points.shape[1],
         Nearest{near.data(), found.data(), from.data(), to.data(), centres.shape[1], points.shape[1], size, none});
    near.store();
    found.store();
}

template <typename Each>
void ball_query(const Each& each, const entry::BallQueryMmcvArgs& args) {
    require_apart(args.idx, {&args.center_xyz, &args.xyz});
    const Input<double> centres(args.center_xyz);
    const Input<double> points(args.xyz);
    const Changed rows(args.idx, Dtype::kInt32);
    const double least = args.min_radius;
    const double end = args.max_radius;
    each(args.B * args.npoint, 4 * args.N,
         QueryBall{rows.as<Int32>(), centres.data(), points.data(), args.npoint, args.N, args.sample_num, least * least,
                   end * end});
    rows.store();
}

template <typename Each>
void stack_ball_query(const Each& each, const entry::StackBallQueryMmcvArgs& args) {
    require_apart(args.idx, {&args.center_xyz, &args.center_xyz_batch_cnt, &args.xyz, &args.xyz_batch_cnt});
    const int64_t count = args.center_xyz.shape[0];
    const StackedClouds clouds(args.xyz_batch_cnt, args.xyz.shape[0], args.center_xyz_batch_cnt, count);
    const Input<double> centres(args.center_xyz);
    const Input<double> points(args.xyz);
    const Changed rows(args.idx, Dtype::kInt32);
    const double end = args.max_radius;
    each(count, 4 * args.xyz.shape[0],
         QueryStackedBall{rows.as<Int32>(), centres.data(), points.data(), clouds.data(), clouds.cloud_of(),
                          args.sample_num, end * end});
    rows.store();
}

// ---- Chamfer distance. ----

template <typename Each>
void chamfer_distance(const Each& each, const entry::ChamferDistanceMmcvArgs& args) {
    require_separate({&args.dist1, &args.dist2, &args.idx1, &args.idx2}, {&args.xyz1, &args.xyz2});
    const Input<double> first(args.xyz1);
    const Input<double> second(args.xyz2);
    const int64_t counts[] = {args.xyz1.shape[1], args.xyz2.shape[1]};
    const auto search = [&](const Tensor& distances, const Tensor& indices, const Input<double>& own,
                            const Input<double>& others, int64_t own_count, int64_t other_count) {
        const Output<double> near(distances);
        const Output<Int32> found(indices);
        each(distances.numel, 3 * other_count,
             NearestInPlane{near.data(), found.data(), own.data(), others.data(), own_count, other_count});
        near.store();
        found.store();
    };
    search(args.dist1, args.idx1, first, second, counts[0], counts[1]);
    search(args.dist2, args.idx2, second, first, counts[1], counts[0]);
}

template <typename Each>
void chamfer_distance_backward(const Each& each, const entry::ChamferDistanceBackwardMmcvArgs& args) {
    require_separate({&args.grad_xyz1, &args.grad_xyz2},
                     {&args.xyz1, &args.xyz2, &args.idx1, &args.idx2, &args.grad_dist1, &args.grad_dist2});
    const int64_t in_one = args.xyz1.shape[1];
    const int64_t in_two = args.xyz2.shape[1];
    const int64_t owners = 2 * args.xyz1.shape[0];
    const Positions in_second(args.idx1, in_two);
    const Positions in_first(args.idx2, in_one);
    const Input<double> first(args.xyz1);
    const Input<double> second(args.xyz2);
    const Input<double> first_gradient(args.grad_dist1);
    const Input<double> second_gradient(args.grad_dist2);
    const Sums of_first(args.grad_xyz1);
    const Sums of_second(args.grad_xyz2);
    each(owners, in_one + in_two,
         AddChamfer{of_first.data(), first.data(), second.data(), in_second.data(), in_first.data(),
                    first_gradient.data(), second_gradient.data(), in_one, in_two});
    each(owners, in_one + in_two,
         AddChamfer{of_second.data(), second.data(), first.data(), in_first.data(), in_second.data(),
                    second_gradient.data(), first_gradient.data(), in_two, in_one});
    of_first.store();
    of_second.store();
}

// ---- Scores of weight matrices. ----

// Only the first neighbour, the centre, has to be in its cloud.
template <typename Args>
Assigned assigned_by(const Args& args, const Input<Int64>& neighbours) {
    if (args.K > 0) {
        const View centres = selected(args.knn_idx, 2, 0);
        const Positions in_cloud(centres.tensor(), args.N);
    }
    return {neighbours.data(), args.N, args.npoint, args.K, args.M, args.out_dim};
}

template <typename Each>
void assign_scores(const Each& each, const entry::AssignScoreWithkMmcvArgs& args) {
    require_apart(args.output, {&args.points, &args.centers, &args.scores, &args.knn_idx});
    const Input<Int64> neighbours(args.knn_idx);
    const Assigned assigned = assigned_by(args, neighbours);
    const Input<double> points(args.points);
    const Input<double> centres(args.centers);
    const Input<double> scores(args.scores);
    const Sums sums(args.output);
    each(args.output.numel, args.M, AssignScores{sums.data(), points.data(), centres.data(), scores.data(), assigned});
    sums.store();
}

template <typename Each>
void assign_scores_backward(const Each& each, const entry::AssignScoreWithkBackwardMmcvArgs& args) {
    require_separate({&args.grad_points, &args.grad_centers, &args.grad_scores},
                     {&args.grad_out, &args.points, &args.centers, &args.scores, &args.knn_idx});
    const Input<Int64> neighbours(args.knn_idx);
    const Assigned assigned = assigned_by(args, neighbours);
    const Input<double> gradient(args.grad_out);
    const Input<double> points(args.points);
    const Input<double> centres(args.centers);
    const Input<double> scores(args.scores);
    const Sums of_points(args.grad_points);
    const Sums of_centres(args.grad_centers);
    const Sums of_scores(args.grad_scores);
    each(args.B * args.M, args.npoint * args.K * args.out_dim,
         AddAssignedFeatures{of_points.data(), of_centres.data(), gradient.data(), scores.data(), assigned});
    each(args.grad_scores.numel, args.out_dim,
         AddAssignedScores{of_scores.data(), gradient.data(), points.data(), centres.data(), assigned});
    of_points.store();
    of_centres.store();
    of_scores.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_POINTS_H_
