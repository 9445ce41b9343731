// Points in upright boxes, for the libraries of all devices. `Each` is as in points.h; objects are called with the
// number of one owner.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_UPRIGHT_BOXES_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_UPRIGHT_BOXES_H_

#include "detection.h"
#include "detection/points.h"
#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "indexing/positions.h"

namespace diopigen::core {

// (x, y, z, dx, dy, dz, heading): centre of the bottom, size, and radians about the z axis.
struct UprightBox {
    double x;
    double y;
    double bottom;
    double sizes[3];
    double cosine;
    double sine;
};

struct MakeUprightBox {
    UprightBox* to;
    const double* boxes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* box = boxes + 7 * at;
        to[at] = {box[0], box[1], box[2], {box[3], box[4], box[5]}, numeric::cos(box[6]), numeric::sin(box[6])};
    }
};

class UprightBoxes {
  public:
    template <typename Each>
    UprightBoxes(const Each& each, const Tensor& boxes) {
        const Input<double> numbers(boxes);
        const int64_t count = boxes.numel / 7;
        memory_.allocate(count * static_cast<int64_t>(sizeof(UprightBox)));
        each(count, 64, MakeUprightBox{static_cast<UprightBox*>(memory_.data()), numbers.data()});
    }
    const UprightBox* data() const { return static_cast<const UprightBox*>(memory_.data()); }

  private:
    Buffer memory_;
};

// A point in the frame of a box, from its centre and bottom; outside on a side, inside at the bottom and on top.
struct LocalPoint {
    double along;
    double across;
    double up;
    bool is_inside;
};

DIOPI_HOST_DEVICE inline LocalPoint local_point(const UprightBox& box, const double* point) {
    const double x = point[0] - box.x;
    const double y = point[1] - box.y;
    LocalPoint found{x * box.cosine + y * box.sine, y * box.cosine - x * box.sine, point[2] - box.bottom, false};
    const double half = box.sizes[2] / 2;
    const double above = point[2] - (box.bottom + half);
    found.is_inside = above <= half && -above <= half && found.along > -box.sizes[0] / 2 &&
                      found.along < box.sizes[0] / 2 && found.across > -box.sizes[1] / 2 &&
                      found.across < box.sizes[1] / 2;
    return found;
}

// ---- Which boxes hold a point. ----

struct FindFirstBox {
    Int32* to;
    const UprightBox* boxes;
    const double* points;
    int64_t count;  // boxes of a cloud
    int64_t size;   // points of a cloud

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        for (int64_t i = 0; i < count; ++i) {
            if (local_point(boxes[at / size * count + i], points + 3 * at).is_inside) {
                to[at] = Int32(static_cast<int32_t>(i));
                return;
            }
        }
    }
};

struct FindAllBoxes {
    Int32* to;
    const UprightBox* boxes;
    const double* points;
    int64_t count;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t point = at / count;
        if (local_point(boxes[point / size * count + at % count], points + 3 * point).is_inside) {
            to[at] = Int32(1);
        }
    }
};

template <typename Find, typename Each, typename Args>
void find_boxes(const Each& each, const Args& args, int64_t owners, int64_t cost) {
    require_apart(args.box_idx_of_points, {&args.boxes, &args.pts});
    const UprightBoxes boxes(each, args.boxes);
    const Input<double> points(args.pts);
    const Changed found(args.box_idx_of_points, Dtype::kInt32);
    each(owners, cost, Find{found.as<Int32>(), boxes.data(), points.data(), args.boxes.shape[1], args.pts.shape[1]});
    found.store();
}

// ---- Voxels of boxes. ----

struct BoxVoxels {
    int64_t x;
    int64_t y;
    int64_t z;
    int64_t room;  // numbers for each: how many points, and their indices

    DIOPI_HOST_DEVICE int64_t count() const { return x * y * z; }
};

struct ListPoints {
    Int32* lists;
    const UprightBox* boxes;
    const double* points;
    int64_t size;
    BoxVoxels voxels;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const UprightBox& box = boxes[at];
        for (int64_t i = 0; i < size && voxels.count() > 0; ++i) {
            const LocalPoint point = local_point(box, points + 3 * i);
            if (point.is_inside) {
                const int64_t x = part_of(point.along + box.sizes[0] / 2, box.sizes[0], voxels.x);
                const int64_t y = part_of(point.across + box.sizes[1] / 2, box.sizes[1], voxels.y);
                const int64_t z = part_of(point.up, box.sizes[2], voxels.z);
                Int32* list = lists + (((at * voxels.x + x) * voxels.y + y) * voxels.z + z) * voxels.room;
                const int32_t listed = list[0].value;
                if (listed >= 0 && listed < voxels.room - 1) {
                    list[listed + 1] = Int32(static_cast<int32_t>(i));
                    list[0] = Int32(listed + 1);
                }
            }
        }
    }

  private:
    DIOPI_HOST_DEVICE static int64_t part_of(double position, double size, int64_t parts) {
        const double part = position / (size / static_cast<double>(parts));
        if (!(part > 0)) {
            return 0;
        }
        return part < static_cast<double>(parts) ? static_cast<int64_t>(part) : parts - 1;
    }
};

// The points of a voxel that exist.
DIOPI_HOST_DEVICE inline int64_t listed_in(const Int32* list, int64_t room) {
    const int64_t count = list[0].value;
    return count < room - 1 ? count : room - 1;
}

struct LargestOfVoxels {
    double* to;
    Int32* positions;
    const Int32* lists;
    const double* features;
    int64_t room;
    int64_t channels;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Int32* list = lists + at / channels * room;
        int64_t best = -1;
        for (int64_t i = 1; i <= listed_in(list, room); ++i) {
            const int64_t point = list[i].value;
            if (point >= 0 && point < size &&
                (best < 0 || features[point * channels + at % channels] > features[best * channels + at % channels])) {
                best = point;
            }
        }
        if (best >= 0) {
            to[at] = features[best * channels + at % channels];
        }
        positions[at] = Int32(static_cast<int32_t>(best));
    }
};

struct MeanOfVoxels {
    double* to;
    const Int32* lists;
    const double* features;
    int64_t room;
    int64_t channels;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Int32* list = lists + at / channels * room;
        const int64_t count = listed_in(list, room);
        double sum = 0;
        for (int64_t i = 1; i <= count; ++i) {
            const int64_t point = list[i].value;
            sum += point >= 0 && point < size ? features[point * channels + at % channels] : 0;
        }
        if (count > 0) {
            to[at] = sum / static_cast<double>(count);
        }
    }
};

template <typename Each>
void roiaware_pool3d(const Each& each, const entry::RoiawarePool3dMmcvArgs& args) {
    require_separate({&args.argmax, &args.pts_idx_of_voxels, &args.pooled_features},
                     {&args.rois, &args.pts, &args.pts_feature});
    const Tensor& sizes = args.pts_idx_of_voxels;
    const BoxVoxels voxels{sizes.shape[1], sizes.shape[2], sizes.shape[3], sizes.shape[4]};
    const int64_t size = args.pts.shape[0];
    const int64_t channels = args.pts_feature.shape[1];
    const UprightBoxes boxes(each, args.rois);
    const Input<double> points(args.pts);
    const Input<double> features(args.pts_feature);
    const Changed lists(args.pts_idx_of_voxels, Dtype::kInt32);
    const Changed pooled(args.pooled_features, Dtype::kFloat64);
    each(args.rois.shape[0], 16 * size, ListPoints{lists.as<Int32>(), boxes.data(), points.data(), size, voxels});
    if (args.pool_method == 0) {
        const Output<Int32> positions(args.argmax);
        each(args.pooled_features.numel, 16,
             LargestOfVoxels{pooled.as<double>(), positions.data(), lists.as<Int32>(), features.data(), voxels.room,
                             channels, size});
        positions.store();
    } else {
        each(args.pooled_features.numel, 16,
             MeanOfVoxels{pooled.as<double>(), lists.as<Int32>(), features.data(), voxels.room, channels, size});
    }
    lists.store();
    pooled.store();
}

// An owner for each channel.
struct AddLargestOfVoxels {
    double* sums;
    const double* gradient;
    const Int64* positions;
    int64_t voxels;
    int64_t channels;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        for (int64_t i = at; i < voxels * channels; i += channels) {
            if (positions[i].value >= 0) {
                sums[positions[i].value * channels + at] += gradient[i];
            }
        }
    }
};

struct AddMeansOfVoxels {
    double* sums;
    const double* gradient;
    const Int32* lists;
    int64_t voxels;
    int64_t room;
    int64_t channels;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        for (int64_t voxel = 0; voxel < voxels; ++voxel) {
            const Int32* list = lists + voxel * room;
            const int64_t count = listed_in(list, room);
            for (int64_t i = 1; i <= count; ++i) {
                const int64_t point = list[i].value;
                if (point >= 0 && point < size) {
                    sums[point * channels + at] += gradient[voxel * channels + at] / static_cast<double>(count);
                }
            }
        }
    }
};

template <typename Each>
void roiaware_pool3d_backward(const Each& each, const entry::RoiawarePool3dBackwardMmcvArgs& args) {
    require_apart(args.grad_in, {&args.pts_idx_of_voxels, &args.argmax, &args.grad_out});
    const int64_t size = args.grad_in.shape[0];
    const int64_t channels = args.grad_in.shape[1];
    const int64_t room = args.pts_idx_of_voxels.shape[4];
    const int64_t voxels = channels == 0 ? 0 : args.grad_out.numel / channels;
    const Input<double> gradient(args.grad_out);
    if (args.pool_method == 0) {
        const Input<Int64> positions(args.argmax);
        check_positions(args.argmax, positions, -1, size);
        const Sums sums(args.grad_in);
        each(channels, voxels, AddLargestOfVoxels{sums.data(), gradient.data(), positions.data(), voxels, channels});
        sums.store();
    } else if (room > 0) {
        const Input<Int32> lists(args.pts_idx_of_voxels);
        const Sums sums(args.grad_in);
        each(channels, voxels * room,
             AddMeansOfVoxels{sums.data(), gradient.data(), lists.data(), voxels, room, channels, size});
        sums.store();
    }
}

// ---- Points of boxes. ----

struct PickPointsOfBox {
    int64_t* to;  // by box the points, and behind them their number
    Int32* flags;
    const UprightBox* boxes;
    const double* points;
    int64_t count;
    int64_t size;
    int64_t samples;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        int64_t* const picks = to + at * (samples + 1);
        int64_t found = 0;
        bool is_empty = true;
        for (int64_t i = 0; i < size && (found < samples || is_empty); ++i) {
            if (local_point(boxes[at], points + 3 * (at / count * size + i)).is_inside) {
                is_empty = false;
                if (found < samples) {
                    picks[found] = i;
                    ++found;
                }
            }
        }
        picks[samples] = flags[at].value == 0 ? found : 0;
        if (is_empty) {
            flags[at] = Int32(1);
        }
    }
};

template <typename W>
struct CopyPointsOfBox {
    W* to;
    const W* coordinates;
    const W* features;
    const int64_t* picks;
    int64_t count;
    int64_t size;
    int64_t samples;
    int64_t channels;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t width = 3 + channels;
        const int64_t box = at / width / samples;
        const int64_t found = picks[box * (samples + 1) + samples];
        if (found > 0) {
            const int64_t pick = picks[box * (samples + 1) + at / width % samples % found];
            const int64_t point = box / count * size + pick;
            const int64_t i = at % width;
            to[at] = i < 3 ? coordinates[3 * point + i] : features[channels * point + i - 3];
        }
    }
};

template <typename Each>
void roipoint_pool3d(const Each& each, const entry::RoipointPool3dMmcvArgs& args) {
    require_separate({&args.pooled_features, &args.pooled_empty_flag}, {&args.xyz, &args.boxes3d, &args.pts_feature});
    const int64_t count = args.boxes3d.shape[1];
    const int64_t size = args.xyz.shape[1];
    const int64_t samples = args.pooled_features.shape[2];
    const UprightBoxes boxes(each, args.boxes3d);
    const Input<double> points(args.xyz);
    const Changed flags(args.pooled_empty_flag, Dtype::kInt32);
    Buffer memory;
    memory.allocate(args.pooled_empty_flag.numel * (samples + 1) * static_cast<int64_t>(sizeof(int64_t)));
    auto* const picks = static_cast<int64_t*>(memory.data());
    each(args.pooled_empty_flag.numel, 16 * size,
         PickPointsOfBox{picks, flags.as<Int32>(), boxes.data(), points.data(), count, size, samples});
    dispatch_word(args.xyz.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput coordinates(args.xyz);
        const RawInput features(args.pts_feature);
        const Changed pooled(args.pooled_features, args.pooled_features.dtype);
        each(args.pooled_features.numel, 1,
             CopyPointsOfBox<W>{pooled.as<W>(), coordinates.as<W>(), features.as<W>(), picks, count, size, samples,
                                args.pts_feature.shape[2]});
        pooled.store();
    });
    flags.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_UPRIGHT_BOXES_H_
