// Convolution of images in two dimensions, and its gradients.
#ifndef DIOPIGEN_KERNELS_IMAGE_H_
#define DIOPIGEN_KERNELS_IMAGE_H_

#include <cstdint>
#include <vector>

namespace diopigen::kernels {

/// A convolution by the shapes of its tensors: images [N, C, H, W], filters [O, C / groups, KH, KW], results
/// [N, O, OH, OW]. Stride, padding and dilation have an entry for each of the two dimensions. Elements are row-major
/// doubles in the order of these shapes, whatever order they have in memory; sums are formed in double.
struct Convolution {
    std::vector<int64_t> image, filter, result;
    std::vector<int64_t> stride, padding, dilation;
    int64_t groups;

    /// Whether the shapes fit each other. The functions below are for those that do.
    bool isSound() const;

    /// `bias` has an entry for each channel of the results.
    std::vector<double> forward(const std::vector<double>& images, const std::vector<double>& filters,
                                const std::vector<double>& bias) const;
    /// The gradients of the images, of the filters and of the bias, given that of the results.
    std::vector<double> imageGradient(const std::vector<double>& gradient, const std::vector<double>& filters) const;
    std::vector<double> filterGradient(const std::vector<double>& gradient, const std::vector<double>& images) const;
    std::vector<double> biasGradient(const std::vector<double>& gradient) const;
};

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_IMAGE_H_
