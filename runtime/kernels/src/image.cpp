#include <diopigen_kernels/image.h>
#include <diopigen_kernels/matrix.h>
#include <diopigen_kernels/shape.h>

namespace diopigen::kernels {
namespace {

using Sizes = std::vector<int64_t>;
using Values = std::vector<double>;

Values transposed(int64_t rows, int64_t columns, const double* matrix) {
    Values transposed_filters(static_cast<std::size_t>(rows * columns));
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            transposed_filters[j * rows + i] = matrix[i * columns + j];
        }
    }
    return transposed_filters;
}

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

    // `visit(at, element)` for each element of the matrix [taps, places] that is in the image.
    template <typename Visit>
    void walk(Visit visit) const {
        const int64_t height = plan.image[2], width = plan.image[3], window = plan.filter[2] * plan.filter[3];
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t top = tap % window / plan.filter[3] * plan.dilation[0] - plan.padding[0];
            const int64_t left = tap % plan.filter[3] * plan.dilation[1] - plan.padding[1];
            for (int64_t row = 0; row < plan.result[2]; ++row) {
                const int64_t h = row * plan.stride[0] + top;
                for (int64_t column = 0; h >= 0 && h < height && column < plan.result[3]; ++column) {
                    const int64_t w = column * plan.stride[1] + left;
                    if (w >= 0 && w < width) {
                        visit(tap * indices + row * plan.result[3] + column, (tap / window * height + h) * width + w);
                    }
                }
            }
        }
    }

    Values columns(const double* image) const {
        Values matrix(static_cast<std::size_t>(taps * indices));
        walk([&](int64_t at, int64_t element) { matrix[at] = image[element]; });
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
        const Values transposed_filters = transposed(plan.outputs, plan.taps, &filters[weights]);
        multiplyMatrices(plan.taps, plan.outputs, plan.indices, transposed_filters.data(), &gradient[from],
                         columns.data());
        plan.walk([&](int64_t at, int64_t element) { sums[to + element] += columns[at]; });
    });
    return sums;
}

Values Convolution::filterGradient(const Values& gradient, const Values& images) const {
    const Products plan(*this);
    Values sums(static_cast<std::size_t>(product(filter))), part(static_cast<std::size_t>(plan.outputs * plan.taps));
    plan.for_each([&](int64_t from, int64_t weights, int64_t to) {
        const Values columns = plan.columns(&images[from]);
        const Values transposed_filters = transposed(plan.taps, plan.indices, columns.data());
        multiplyMatrices(plan.outputs, plan.indices, plan.taps, &gradient[to], transposed_filters.data(), part.data());
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
