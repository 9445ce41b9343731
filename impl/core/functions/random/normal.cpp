// Normal and its forms with tensors of means and deviations, by Box and Muller's method.
#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "random.h"
#include "random_kernels.h"

using namespace diopigen::core;

namespace {

// An operand is a tensor or, where that is null, a number.
struct Operand {
    const Tensor& tensor;
    double number;
};

const Tensor kNone;

void sample_normal(const Tensor& out, Operand mean, Operand std, diopiGeneratorHandle_t generator) {
    require_floating({&out, &mean.tensor, &std.tensor});
    const auto spread = [&](const Tensor& tensor) {
        return tensor.is_null() ? View(Tensor(), {}, {}) : expanded(tensor, shape_of(out));
    };
    const View mean_view = spread(mean.tensor);
    const View std_view = spread(std.tensor);
    sample_normal_elements(out, mean_view.tensor(), std_view.tensor(), mean.number, std.number, generator,
                           "C1: no element of std is negative");
}

}  // namespace

void diopigen::entry::normal(const NormalArgs& args) {
    sample_normal_numbers(args.out, args.mean, args.std, args.generator);
}

void diopigen::entry::normal_inp(const NormalInpArgs& args) {
    sample_normal_numbers(args.inout, args.mean, args.std, args.generator);
}

void diopigen::entry::normal_tensor_scalar(const NormalTensorScalarArgs& args) {
    sample_normal(args.out, {args.mean, 0}, {kNone, args.std}, args.generator);
}

void diopigen::entry::normal_scalar_tensor(const NormalScalarTensorArgs& args) {
    sample_normal(args.out, {kNone, args.mean}, {args.std, 0}, args.generator);
}

void diopigen::entry::normal_tensor(const NormalTensorArgs& args) {
    sample_normal(args.out, {args.mean, 0}, {args.std, 0}, args.generator);
}
