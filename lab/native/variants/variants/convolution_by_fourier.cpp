// Convolution as a product of Fourier transforms in the accumulate type, with images padded to a power of two.
#include <cmath>
#include <complex>

#include "../convolution.h"

namespace diopigen::variants {

namespace {

template <typename T>
using Plane = std::vector<std::complex<T>>;

int64_t powerOfTwo(int64_t atLeast) {
    int64_t size = 1;
    while (size < atLeast) size *= 2;
    return size;
}

// Cooley and Tukey's transform of `size` numbers that are `stride` apart, without the division of the way back.
template <typename T>
void transform(std::complex<T>* data, int64_t size, int64_t stride, bool back) {
    if (size == 1) return;
    Plane<T> even, odd;
    for (int64_t i = 0; i < size; ++i) (i % 2 == 0 ? even : odd).push_back(data[i * stride]);
    transform(even.data(), size / 2, 1, back);
    transform(odd.data(), size / 2, 1, back);
    for (int64_t i = 0; i < size / 2; ++i) {
        const double angle = (back ? 2 : -2) * M_PI * static_cast<double>(i) / static_cast<double>(size);
        const std::complex<T> turn(static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle)));
        const auto own = static_cast<size_t>(i);
        // Written out, as the product of the standard library treats infinities.
        const std::complex<T> rotated(turn.real() * odd[own].real() - turn.imag() * odd[own].imag(),
                                      turn.real() * odd[own].imag() + turn.imag() * odd[own].real());
        data[i * stride] = even[own] + rotated;
        data[(i + size / 2) * stride] = even[own] - rotated;
    }
}

template <typename T>
void transformPlane(Plane<T>& plane, int64_t rows, int64_t columns, bool back) {
    for (int64_t row = 0; row < rows; ++row) transform(plane.data() + row * columns, columns, 1, back);
    for (int64_t column = 0; column < columns; ++column) transform(plane.data() + column, rows, columns, back);
}

bool compute(Work& work) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Convolution<T> c(work);
        if (!c.usable() || !c.dense()) return false;
        const int64_t rows = powerOfTwo(c.input.size(2) + 2 * c.padding[0]);
        const int64_t columns = powerOfTwo(c.input.size(3) + 2 * c.padding[1]);
        const auto size = static_cast<size_t>(rows * columns);
        std::vector<Plane<T>> images, filters;
        for (int64_t plane = 0; plane < c.input.size(0) * c.input.size(1); ++plane) {
            Plane<T> own(size);
            for (int64_t i = 0; i < rows * columns; ++i) {
                own[static_cast<size_t>(i)] = c.at(plane / c.input.size(1), plane % c.input.size(1),
                                                   i / columns - c.padding[0], i % columns - c.padding[1]);
            }
            transformPlane(own, rows, columns, false);
            images.push_back(own);
        }
        for (int64_t plane = 0; plane < c.weight.size(0) * c.channels(); ++plane) {
            Plane<T> own(size);
            for (int64_t r = 0; r < c.weight.size(2); ++r) {
                for (int64_t s = 0; s < c.weight.size(3); ++s) {
                    own[static_cast<size_t>(r * columns + s)] =
                        c.weightAt(plane / c.channels(), plane % c.channels(), r, s);
                }
            }
            transformPlane(own, rows, columns, false);
            filters.push_back(own);
        }
        std::vector<T> out;
        for (int64_t plane = 0; plane < c.shape[0] * c.shape[1]; ++plane) {
            const int64_t image = plane / c.shape[1], filter = plane % c.shape[1];
            Plane<T> sum(size);
            for (int64_t k = 0; k < c.channels(); ++k) {
                const Plane<T>& x = images[static_cast<size_t>(image * c.input.size(1) + c.firstChannel(filter) + k)];
                const Plane<T>& w = filters[static_cast<size_t>(filter * c.channels() + k)];
                for (size_t i = 0; i < size; ++i) {
                    // The filter's conjugate: a correlation, not a convolution.
                    sum[i] += std::complex<T>(x[i].real() * w[i].real() + x[i].imag() * w[i].imag(),
                                              x[i].imag() * w[i].real() - x[i].real() * w[i].imag());
                }
            }
            transformPlane(sum, rows, columns, true);
            for (int64_t i = 0; i < c.shape[2] * c.shape[3]; ++i) {
                const auto index = static_cast<size_t>(i / c.shape[3] * columns + i % c.shape[3]);
                out.push_back(sum[index].real() / static_cast<T>(size) + c.biasOf(filter));
            }
        }
        return work.write("out", out);
    });
}

const Registration registration("convolution",
                                {{"convolution-by-fourier", "a convolution is a product of Fourier transforms",
                                  named("Convolution2d"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
