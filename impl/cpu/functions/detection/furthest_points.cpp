// Sampling of the furthest points: clouds are spread over the threads, or the points of one.
#include "detection/furthest_points.h"

#include <algorithm>
#include <vector>

#include "diopi_core/threads.h"

using namespace diopigen::core;

namespace {

struct Choose {
    template <typename Distance>
    void operator()(double* near, Int32* selected, const Distance& distance, int64_t clouds, int64_t count,
                    int64_t picks) const {
        // A call of parallel_for inside another one runs inline.
        parallel_for(clouds, 1, [&](int64_t begin, int64_t end) {
            for (int64_t cloud = begin; cloud < end; ++cloud) {
                in_cloud(near + cloud * count, selected + cloud * picks, distance, cloud, count, picks);
            }
        });
    }

  private:
    static constexpr int64_t kChunk = 4096;

    template <typename Distance>
    static void in_cloud(double* near, Int32* selected, const Distance& distance, int64_t cloud, int64_t count,
                         int64_t picks) {
        const int64_t chunks = (count + kChunk - 1) / kChunk;
        std::vector<Furthest> of_chunks(static_cast<size_t>(chunks));
        int64_t last = 0;
        selected[0] = Int32(0);
        for (int64_t pick = 1; pick < picks; ++pick) {
            parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
                for (int64_t chunk = begin; chunk < end; ++chunk) {
                    Furthest best{0, -1};
                    for (int64_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
                        best = Furthest::of(best, lowered(near, distance, cloud, last, i));
                    }
                    of_chunks[chunk] = best;
                }
            });
            Furthest best{0, -1};
            for (const Furthest& found : of_chunks) {
                best = Furthest::of(best, found);
            }
            last = best.index;
            selected[pick] = Int32(static_cast<int32_t>(last));
        }
    }
};

}  // namespace

void diopigen::entry::furthest_point_sampling_mmcv(const FurthestPointSamplingMmcvArgs& args) {
    sample_furthest<BySquares>(args.temp_tensor, args.idx_tensor, args.points_xyz, Choose());
}

void diopigen::entry::furthest_point_sampling_with_dist_mmcv(const FurthestPointSamplingWithDistMmcvArgs& args) {
    sample_furthest<ByTable>(args.temp_tensor, args.idx_tensor, args.points_dist, Choose());
}
