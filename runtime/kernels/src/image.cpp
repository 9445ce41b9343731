#include <diopigen_kernels/image.h>
#include <diopigen_kernels/matrix.h>
#include <diopigen_kernels/shape.h>

#include <algorithm>

namespace diopigen::kernels {
namespace {

using Sizes = std::vector<int64_t>;
using Values = std::vector<double>;

// The sizes of a convolution as products of matrices, one for each image and group: [outputs, taps] * [taps, places].
struct Products {
    explicit Products(const Convolution& c)
        : plan(c),
          outputs(c.filter[0] / c.groups),
          taps(c.filter[1] * c.filter[2] * c.filter[3]),
          indices(c.result[2] * c.result[3]) {}

    // `visit(image, filters, results)` with the first element of each, for every product.
    template <typename Visit>
    void for_each(Visit visit) const {
        const int64_t plane = plan.image[2] * plan.image[3];
        for (int64_t n = 0; n < plan.image[0]; ++n) {
            for (int64_t group = 0; group < plan.groups; ++group) {
                visit((n * plan.image[1] + group * plan.filter[1]) * plane, group * outputs * taps,
                      (n * plan.result[1] + group * outputs) * indices);
            }
        }
    }

    // `visit(at, element, count)` for each run of elements of the matrix [taps, places] that are in the image, where
    // they are a stride apart.
    template <typename Visit>
    void walk(Visit visit) const {
        const int64_t height = plan.image[2], width = plan.image[3], window = plan.filter[2] * plan.filter[3];
        const int64_t stride = plan.stride[1];
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t top = tap % window / plan.filter[3] * plan.dilation[0] - plan.padding[0];
            const int64_t left = tap % plan.filter[3] * plan.dilation[1] - plan.padding[1];
            const int64_t begin = left < 0 ? (stride - 1 - left) / stride : 0;
            const int64_t end = left < width ? std::min(plan.result[3], (width - 1 - left) / stride + 1) : 0;
            for (int64_t row = 0; row < plan.result[2]; ++row) {
                const int64_t h = row * plan.stride[0] + top;
                if (h >= 0 && h < height && begin < end) {
                    visit(tap * indices + row * plan.result[3] + begin,
                          (tap / window * height + h) * width + begin * stride + left, end - begin);
                }
            }
        }
    }

    Values columns(const double* image) const {
        Values matrix(static_cast<std::size_t>(taps * indices));
        const int64_t stride = plan.stride[1];
        walk([&](int64_t at, int64_t element, int64_t count) {
            if (stride == 1) {
                std::copy_n(image + element, count, matrix.data() + at);
                return;
            }
            for (int64_t i = 0; i < count; ++i) {
                matrix[at + i] = image[element + i * stride];
            }
        });
        return matrix;
    }

    // The channel of an element of the results.
    int64_t channel_of(std::size_t at) const { return static_cast<int64_t>(at) / indices % plan.result[1]; }

    const Convolution& plan;
    const int64_t outputs, taps, indices;
};

}  // namespace

bool Convolution::isSound() const {
    bool fits = image.size() == 4 && filter.size() == 4 && result.size() == 4 && stride.size() == 2 &&
                padding.size() == 2 && dilation.size() == 2 && groups > 0;
    fits = fits && result[0] == image[0] && result[1] == filter[0] && filter[0] % groups == 0 &&
           image[1] == filter[1] * groups;
    for (std::size_t d = 0; fits && d < 2; ++d) {
        const int64_t room = image[d + 2] + 2 * padding[d] - dilation[d] * (filter[d + 2] - 1) - 1;
        fits =
            stride[d] > 0 && padding[d] >= 0 && dilation[d] > 0 && room >= 0 && result[d + 2] == room / stride[d] + 1;
    }
    return fits;
}

Values Convolution::forward(const Values& images, const Values& filters, const Values& bias) const {
    const Products plan(*this);
    Values results(static_cast<std::size_t>(product(result)));
    plan.for_each([&](int64_t from, int64_t weights, int64_t to) {
        const Values columns = plan.columns(&images[from]);
        multiplyMatrices(plan.outputs, plan.taps, plan.indices, &filters[weights], columns.data(), &results[to]);
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
        results[i] += bias[plan.channel_of(i)];
    }
    return results;
}

Values Convolution::imageGradient(const Values& gradient, const Values& filters) const {
    const Products plan(*this);
    Values sums(static_cast<std::size_t>(product(image))), columns(static_cast<std::size_t>(plan.taps * plan.indices));
    plan.for_each([&](int64_t to, int64_t weights, int64_t from) {
        multiplyMatrices(plan.taps, plan.outputs, plan.indices, Matrix<double>{&filters[weights], 1, plan.taps},
                         Matrix<double>{&gradient[from], plan.indices, 1}, columns.data());
        double* const image_sums = sums.data() + to;
        plan.walk([&](int64_t at, int64_t element, int64_t count) {
            for (int64_t i = 0; i < count; ++i) {
                image_sums[element + i * stride[1]] += columns[at + i];
            }
        });
    });
    return sums;
}

Values Convolution::filterGradient(const Values& gradient, const Values& images) const {
    const Products plan(*this);
    Values sums(static_cast<std::size_t>(product(filter))), part(static_cast<std::size_t>(plan.outputs * plan.taps));
    plan.for_each([&](int64_t from, int64_t weights, int64_t to) {
        const Values columns = plan.columns(&images[from]);
        multiplyMatrices(plan.outputs, plan.indices, plan.taps, Matrix<double>{&gradient[to], plan.indices, 1},
                         Matrix<double>{columns.data(), 1, plan.indices}, part.data());
        for (std::size_t i = 0; i < part.size(); ++i) {
            sums[weights + i] += part[i];
        }
    });
    return sums;
}

Values Convolution::biasGradient(const Values& gradient) const {
    const Products plan(*this);
    Values sums(static_cast<std::size_t>(result[1]));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        sums[plan.channel_of(i)] += gradient[i];
    }
    return sums;
}

}  // namespace diopigen::kernels
