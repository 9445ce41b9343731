// Sampling of the furthest points: a group for each cloud.
#include "detection/furthest_points.h"
#include "diopi_cuda/launch.h"

using namespace diopigen::core;

namespace diopigen::cuda {

namespace {

template <typename Distance>
void choose(double* near, Int32* selected, const Distance& distance, int64_t clouds, int64_t count, int64_t picks) {
    for_groups(clouds, threads_for(count), 0, [=] DIOPI_KERNEL(Group & group, int64_t cloud) {
        const auto join = [](const Furthest& a, const Furthest& b) { return Furthest::of(a, b); };
        double* of_cloud = near + cloud * count;
        Int32* found = selected + cloud * picks;
        int64_t last = 0;
        for (int64_t pick = 0; pick < picks; ++pick) {
            if (pick > 0) {
                Furthest best{0, -1};
                for (int64_t i = group.thread(); i < count; i += group.size()) {
                    best = Furthest::of(best, lowered(of_cloud, distance, cloud, last, i));
                }
                last = group.reduce(best, join).index;
            }
            if (group.thread() == 0) {
                found[pick] = Int32(static_cast<int32_t>(last));
            }
        }
    });
}

struct Choose {
    template <typename Distance>
    void operator()(double* near, Int32* selected, const Distance& distance, int64_t clouds, int64_t count,
                    int64_t picks) const {
        choose(near, selected, distance, clouds, count, picks);
    }
};

}  // namespace

}  // namespace diopigen::cuda

void diopigen::entry::furthest_point_sampling_mmcv(const FurthestPointSamplingMmcvArgs& args) {
    sample_furthest<BySquares>(args.temp_tensor, args.idx_tensor, args.points_xyz, diopigen::cuda::Choose());
}

void diopigen::entry::furthest_point_sampling_with_dist_mmcv(const FurthestPointSamplingWithDistMmcvArgs& args) {
    sample_furthest<ByTable>(args.temp_tensor, args.idx_tensor, args.points_dist, diopigen::cuda::Choose());
}
