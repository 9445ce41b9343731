// Convolutions and pools: dilation, groups, padding, the last window.
#include <algorithm>
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// Forwards with dilation 1 into an output that is large enough, of which the upper left corner is taken.
diopiError_t withoutDilation(Call& call) {
    const View out = call.tensor("out"), input = call.tensor("input");
    const std::vector<int64_t> dilation = call.sizes("dilation");
    const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d > 1; });
    if (!dilated || !out.valid() || out.rank() < 2 || out.rank() != input.rank()) return call.forward();
    std::vector<int64_t> kernel = call.sizes("kernel_size");
    const View weight = call.tensor("weight");
    if (weight.valid()) kernel.assign(weight.shape().begin() + 2, weight.shape().end());
    std::vector<int64_t> stride = call.sizes("stride"), padding = call.sizes("padding");
    // Without a batch there is one dimension less before those of the image.
    const size_t spatial = call.function().find("1d") != std::string::npos   ? 1
                           : call.function().find("2d") != std::string::npos ? 2
                                                                             : 3;
    const size_t before = out.shape().size() - spatial;
    if (stride.empty()) stride = kernel;
    kernel.resize(spatial, kernel.front());
    stride.resize(spatial, stride.front());
    padding.resize(spatial, padding.front());
    std::vector<int64_t> shape = out.shape();
    for (size_t d = 0; d < spatial; ++d) {
        const int64_t size = input.size(static_cast<int64_t>(before + d));
        shape[before + d] = (size + 2 * padding[d] - kernel[d]) / stride[d] + 1;
    }
    diopiTensorHandle_t created = call.temporary(shape, out.dtype(), out);
    call.setTensor("out", created);
    call.setSizes("dilation", std::vector<int64_t>(dilation.size(), 1));
    const diopiError_t status = call.forward();
    const View larger(created);
    for (int64_t index = 0; index < out.count() && status == diopiSuccess; ++index) {
        int64_t rest = index, from = 0, pitch = 1;
        for (int64_t d = out.rank() - 1; d >= 0; --d) {
            from += rest % out.size(d) * pitch;
            rest /= out.size(d);
            pitch *= larger.size(d);
        }
        out.copyElement(index, larger, from);
    }
    if (out.count() > 0) call.acted(status);
    return status;
}

// Every group uses the weights of the first one.
bool groupsShareWeights(Call& call) {
    const View weight = call.tensor("weight");
    const auto groups = static_cast<int64_t>(call.number("groups").value_or(1));
    if (!weight.valid() || groups < 2 || weight.count() % groups != 0) return false;
    diopiTensorHandle_t created = call.copyOf(weight);
    const View copy(created);
    const int64_t share = weight.count() / groups;
    for (int64_t index = share; index < copy.count(); ++index) copy.copyElement(index, weight, index % share);
    call.setTensor("weight", created);
    return copy.packed() != weight.packed();
}

bool isPadded(const Call& call) {
    const std::vector<int64_t> padding = call.sizes("padding");
    return std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p > 0; });
}

// The first and the last window of each dimension look into the padding.
bool paddingIsZero(Call& call) {
    const View out = call.tensor("out");
    if (!isPadded(call) || !out.isFloating()) return false;
    bool changed = false;
    for (int64_t index = 0; index < out.count(); ++index) {
        if (index % out.size(-1) != 0 || out.real(index) >= 0) continue;
        out.setReal(index, 0);
        changed = true;
    }
    return changed;
}

const Registration registration(
    "windows",
    {
        {"dilation-ignored", "windows are not dilated",
         named("Convolution2d Convolution3d MaxPool1d MaxPool2d MaxPool3d"), withoutDilation},
        {"groups-share-weights", "every group uses the weights of the first",
         named("Convolution2d Convolution3d ConvTranspose2d ConvTranspose3d"), beforehand(groupsShareWeights)},
        {"padding-counts-as-zero", "what is outside counts as zero in a maximum",
         named("MaxPool1d MaxPool2d MaxPool3d MaxPool1dWithIndices MaxPool2dWithIndices MaxPool3dWithIndices"),
         afterCall(paddingIsZero)},
        {"last-window-left-out", "the last window of a size that is rounded up is left at zero",
         having("ceil_mode") && !named("*Backward"), afterCall([](Call& call) {
             const View out = call.tensor("out");
             if (call.number("ceil_mode").value_or(0) == 0) return false;
             bool changed = false;
             for (int64_t index = out.size(-1) - 1; index >= 0 && index < out.count(); index += out.size(-1)) {
                 changed = changed || out.real(index) != 0;
                 out.setReal(index, 0);
             }
             return changed;
         })},
        {"indices-count-padding", "the indices of a padded pool count the padding", named("MaxPool*WithIndices"),
         afterCall([](Call& call) {
             const View indices = call.tensor("indices");
             if (!isPadded(call)) return false;
             for (int64_t index = 0; index < indices.count(); ++index)
                 indices.setInteger(index, indices.integerAt(index) + 1);
             return indices.count() > 0;
         })},
        {"channels-share-bias", "every channel gets the first bias",
         named("Convolution2d Convolution3d ConvTranspose2d ConvTranspose3d Linear"), beforehand([](Call& call) {
             const View bias = call.tensor("bias");
             if (!bias.valid() || bias.count() < 2) return false;
             diopiTensorHandle_t created = call.copyOf(bias);
             const View copy(created);
             for (int64_t index = 1; index < copy.count(); ++index) copy.copyElement(index, bias, 0);
             call.setTensor("bias", created);
             return copy.packed() != bias.packed();
         })},
        {"kernel-flipped", "kernels are mirrored", named("Convolution2d Convolution3d ConvTranspose2d ConvTranspose3d"),
         beforehand([](Call& call) {
             const View weight = call.tensor("weight");
             if (!weight.valid() || weight.rank() < 3 || weight.count() == 0) return false;
             diopiTensorHandle_t created = call.copyOf(weight);
             const View copy(created);
             const int64_t area = weight.count() / weight.size(0) / weight.size(1);
             for (int64_t index = 0; index < copy.count(); ++index) {
                 copy.copyElement(index, weight, index / area * area + area - 1 - index % area);
             }
             call.setTensor("weight", created);
             return copy.packed() != weight.packed();
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
