// Functions over clouds of points.
#include "detection/points.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::gather_points_mmcv(const GatherPointsMmcvArgs& args) {
    pick_points(Each(), args.out, args.points, args.idx, args.npoints);
}

void entry::gather_points_backward_mmcv(const GatherPointsBackwardMmcvArgs& args) {
    add_picked(Each(), args.grad_points, args.grad_out, args.idx, args.npoints);
}

void entry::group_points_mmcv(const GroupPointsMmcvArgs& args) {
    pick_points(Each(), args.out, args.points, args.idx, args.npoints * args.nsample);
}

void entry::group_points_backward_mmcv(const GroupPointsBackwardMmcvArgs& args) {
    add_picked(Each(), args.grad_points, args.grad_out, args.idx, args.npoints * args.nsample);
}

void entry::stack_group_points_mmcv(const StackGroupPointsMmcvArgs& args) { stack_group_points(Each(), args); }

void entry::stack_group_points_backward_mmcv(const StackGroupPointsBackwardMmcvArgs& args) {
    stack_group_points_backward(Each(), args);
}

void entry::three_interpolate_mmcv(const ThreeInterpolateMmcvArgs& args) { three_interpolate(Each(), args); }

void entry::three_interpolate_backward_mmcv(const ThreeInterpolateBackwardMmcvArgs& args) {
    three_interpolate_backward(Each(), args);
}

void entry::three_nn_mmcv(const ThreeNnMmcvArgs& args) {
    find_nearest(Each(), args.dist2, args.idx, args.unknown, args.known, 3, 1e40);
}

void entry::knn_mmcv(const KnnMmcvArgs& args) {
    find_nearest(Each(), args.dist2_tensor, args.idx_tensor, args.new_xyz_tensor, args.xyz_tensor, args.nsample, 1e10);
}

void entry::ball_query_mmcv(const BallQueryMmcvArgs& args) { ball_query(Each(), args); }

void entry::stack_ball_query_mmcv(const StackBallQueryMmcvArgs& args) { stack_ball_query(Each(), args); }

void entry::chamfer_distance_mmcv(const ChamferDistanceMmcvArgs& args) { chamfer_distance(Each(), args); }

void entry::chamfer_distance_backward_mmcv(const ChamferDistanceBackwardMmcvArgs& args) {
    chamfer_distance_backward(Each(), args);
}

void entry::assign_score_withk_mmcv(const AssignScoreWithkMmcvArgs& args) { assign_scores(Each(), args); }

void entry::assign_score_withk_backward_mmcv(const AssignScoreWithkBackwardMmcvArgs& args) {
    assign_scores_backward(Each(), args);
}

}  // namespace diopigen
