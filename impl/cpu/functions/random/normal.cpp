// Normal and its forms with tensors of means and deviations, by Box and Muller's method.
#include <diopi/functions.h>

#include "draw.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

void fill_normal(const Tensor& target, double mean, double std, diopiGeneratorHandle_t generator) {
    require(std >= 0, "std.range: std is at least 0");
    draw_normal_numbers(target, mean, std, generator);
}

// An operand is a tensor or, where that is null, a number.
struct Operand {
    const Tensor& tensor;
    double number;
};

void draw_normal(const Tensor& out, Operand mean, Operand std, diopiGeneratorHandle_t generator,
                 const char* deviation_rule) {
    require_broadcast(out, {&mean.tensor, &std.tensor});
    for (const Tensor* operand : {&mean.tensor, &std.tensor}) {
        require_one_device({&out, operand});
        require_no_overlap(out, *operand);
    }
    const auto spread = [&](const Tensor& tensor) {
        return tensor.is_null() ? View(Tensor(), {}, {}) : expanded(tensor, shape_of(out));
    };
    const View mean_view = spread(mean.tensor);
    const View std_view = spread(std.tensor);
    draw_normal_elements(out, mean_view.tensor(), std_view.tensor(), mean.number, std.number, generator,
                         deviation_rule);
}

constexpr const char* kElementRule = "C1: no element of std is negative";

}  // namespace

DIOPI_API diopiError_t diopiNormal(diopiContextHandle_t ctx, diopiTensorHandle_t out, double mean, double std,
                                   diopiGeneratorHandle_t generator) {
    return guarded("diopiNormal", ctx, [&] {
        fill_normal(target_tensor("out", out, generator, kFloating | kComplex), mean, std, generator);
    });
}

DIOPI_API diopiError_t diopiNormalInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double mean, double std,
                                      diopiGeneratorHandle_t generator) {
    return guarded("diopiNormalInp", ctx, [&] {
        fill_normal(target_tensor("inout", inout, generator, kFloating | kComplex), mean, std, generator);
    });
}

DIOPI_API diopiError_t diopiNormalTensorScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                               diopiConstTensorHandle_t mean, double std,
                                               diopiGeneratorHandle_t generator) {
    return guarded("diopiNormalTensorScalar", ctx, [&] {
        const Tensor out_tensor = target_tensor("out", out, generator, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        draw_normal(out_tensor, {mean_tensor, 0}, {Tensor(), std}, generator, "std.range: std is at least 0");
    });
}

DIOPI_API diopiError_t diopiNormalScalarTensor(diopiContextHandle_t ctx, diopiTensorHandle_t out, double mean,
                                               diopiConstTensorHandle_t std, diopiGeneratorHandle_t generator) {
    return guarded("diopiNormalScalarTensor", ctx, [&] {
        const Tensor out_tensor = target_tensor("out", out, generator, kFloating);
        const Tensor std_tensor = tensor("std", std, kFloating);
        draw_normal(out_tensor, {Tensor(), mean}, {std_tensor, 0}, generator, kElementRule);
    });
}

DIOPI_API diopiError_t diopiNormalTensor(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                         diopiConstTensorHandle_t mean, diopiConstTensorHandle_t std,
                                         diopiGeneratorHandle_t generator) {
    return guarded("diopiNormalTensor", ctx, [&] {
        const Tensor out_tensor = target_tensor("out", out, generator, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor std_tensor = tensor("std", std, kFloating);
        draw_normal(out_tensor, {mean_tensor, 0}, {std_tensor, 0}, generator, kElementRule);
    });
}
