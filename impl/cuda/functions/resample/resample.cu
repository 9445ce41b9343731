// Resampling: along each dimension an element of what is written is a weighted sum of some elements of what is read.
// Gradients are the same with the sums transposed, so that nothing is added up by two threads.
#include "diopi_core/dense.h"
#include "diopi_cuda/launch.h"
#include "resample/resample_kernels.h"
#include "shape/shape_kernels.h"

namespace diopigen::cuda {

namespace {

struct Term {
    int64_t at;
    double weight;
};

// The terms of every element along one dimension, one element after the other.
struct Axis {
    std::vector<int64_t> starts{0};
    std::vector<Term> terms;

    void end_element() { starts.push_back(static_cast<int64_t>(terms.size())); }

    // For each of `size` elements that are read, those that are written of them.
    Axis transposed(int64_t size) const {
        std::vector<std::vector<Term>> lists(static_cast<size_t>(size));
        for (size_t to = 0; to + 1 < starts.size(); ++to) {
            for (int64_t k = starts[to]; k < starts[to + 1]; ++k) {
                lists[terms[k].at].push_back({static_cast<int64_t>(to), terms[k].weight});
            }
        }
        Axis adjoint;
        for (const std::vector<Term>& list : lists) {
            adjoint.terms.insert(adjoint.terms.end(), list.begin(), list.end());
            adjoint.end_element();
        }
        return adjoint;
    }
};

using Axes = std::array<Axis, kSpace>;

Axes axes_of(const Sources& sources) {
    Axes axes;
    for (int k = 0; k < kSpace; ++k) {
        for (const int64_t source : sources[k]) {
            axes[k].terms.push_back({source, 1});
            axes[k].end_element();
        }
    }
    return axes;
}

Axes axes_of(const AllTaps& all) {
    Axes axes;
    for (int k = 0; k < kSpace; ++k) {
        for (const Taps& taps : all[k]) {
            for (int i = 0; i < taps.count; ++i) {
                axes[k].terms.push_back({taps.index[i], taps.weight[i]});
            }
            axes[k].end_element();
        }
    }
    return axes;
}

Axes transposed(const Axes& axes, const Triple& sizes) {
    Axes adjoint;
    for (int k = 0; k < kSpace; ++k) {
        adjoint[k] = axes[k].transposed(sizes[k]);
    }
    return adjoint;
}

struct DeviceAxis {
    const int64_t* starts;
    const Term* terms;
};

// Axes in the memory of the device.
class DeviceAxes {
  public:
    explicit DeviceAxes(const Axes& axes) {
        for (int k = 0; k < kSpace; ++k) {
            bring(starts_[k], axes[k].starts.data(), axes[k].starts.size() * sizeof(int64_t));
            bring(terms_[k], axes[k].terms.data(), axes[k].terms.size() * sizeof(Term));
        }
    }
    DeviceAxis axis(int k) const {
        return {static_cast<const int64_t*>(starts_[k].data()), static_cast<const Term*>(terms_[k].data())};
    }

  private:
    static void bring(Buffer& buffer, const void* from, size_t bytes) {
        buffer.allocate(static_cast<int64_t>(bytes));
        if (bytes > 0) {
            send(buffer.data(), from, bytes);
        }
    }

    std::array<Buffer, kSpace> starts_;
    std::array<Buffer, kSpace> terms_;
};

struct Sizes {
    int64_t from[kSpace];
    int64_t to[kSpace];
};

template <typename T>
void resample(T* result, const T* source, int64_t planes, const Sizes& sizes, const DeviceAxis& depth,
              const DeviceAxis& height, const DeviceAxis& width) {
    for_each(planes * sizes.to[0] * sizes.to[1] * sizes.to[2], [=] DIOPI_KERNEL(int64_t at) {
        const int64_t x = at % sizes.to[2];
        const int64_t y = at / sizes.to[2] % sizes.to[1];
        const int64_t z = at / sizes.to[2] / sizes.to[1] % sizes.to[0];
        const int64_t plane = at / sizes.to[2] / sizes.to[1] / sizes.to[0];
        const T* from = source + plane * sizes.from[0] * sizes.from[1] * sizes.from[2];
        double sum = 0;
        for (int64_t i = depth.starts[z]; i < depth.starts[z + 1]; ++i) {
            for (int64_t j = height.starts[y]; j < height.starts[y + 1]; ++j) {
                const double weight = depth.terms[i].weight * height.terms[j].weight;
                const int64_t row = (depth.terms[i].at * sizes.from[1] + height.terms[j].at) * sizes.from[2];
                for (int64_t k = width.starts[x]; k < width.starts[x + 1]; ++k) {
                    sum += weight * width.terms[k].weight * static_cast<double>(from[row + width.terms[k].at]);
                }
            }
        }
        result[at] = static_cast<T>(sum);
    });
}

void resample(const Tensor& result, const Tensor& source, int64_t planes, const Triple& from, const Triple& to,
              const Axes& axes) {
    Sizes sizes;
    for (int k = 0; k < kSpace; ++k) {
        sizes.from[k] = from[k];
        sizes.to[k] = to[k];
    }
    const DeviceAxes on_device(axes);
    dispatch_compute<kFloating>(source.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> read(source);
        const Output<T> written(result);
        resample<T>(written.data(), read.data(), planes, sizes, on_device.axis(0), on_device.axis(1),
                    on_device.axis(2));
        written.store();
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void copy_nearest(const Tensor& out_tensor, const Tensor& input_tensor, const Resize& resize, const Sources& source) {
    // Not a sum of one term, which would lose the sign of zero.
    Tables tables(1);
    for (int64_t plane = 0; plane < resize.planes; ++plane) {
        tables[0].push_back(plane);
    }
    tables.insert(tables.end(), source.begin(), source.end());
    gather_tables(out_tensor, input_tensor, {resize.planes, resize.from[0], resize.from[1], resize.from[2]}, tables);
}

void add_nearest(const Tensor& gradient, const Tensor& grad_out, const Resize& resize, const Sources& source) {
    cuda::resample(gradient, grad_out, resize.planes, resize.to, resize.from,
                   cuda::transposed(cuda::axes_of(source), resize.from));
}

void interpolate(const Tensor& out_tensor, const Tensor& input_tensor, const Resize& resize, const AllTaps& taps) {
    cuda::resample(out_tensor, input_tensor, resize.planes, resize.from, resize.to, cuda::axes_of(taps));
}

void spread(const Tensor& gradient, const Tensor& grad_out, const Resize& resize, const AllTaps& taps) {
    cuda::resample(gradient, grad_out, resize.planes, resize.to, resize.from,
                   cuda::transposed(cuda::axes_of(taps), resize.from));
}

}  // namespace diopigen::core
