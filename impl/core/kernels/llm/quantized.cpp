// Linear layers of quantized weights, and the quantization of activations.
#include <diopigen_kernels/serving/quantized.h>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "llm.h"

namespace diopigen {

using namespace core;
using namespace kernels::serving;

void entry::packed_linear(const PackedLinearArgs& args) {
    require_separate({&args.out}, {&args.input, &args.weight, &args.scale, &args.zero_point, &args.bias});
    const Input<float> x(args.input);
    const Input<Int32> weight(args.weight);
    const Input<float> scale(args.scale);
    const Input<Int32> zero(args.zero_point);
    const Input<float> bias(args.bias);
    const Output<float> out(args.out);
    Each()(args.out.numel, args.input.shape[args.input.rank - 1],
           PackedProduct{out.data(), x.data(), reinterpret_cast<const int32_t*>(weight.data()), scale.data(),
                         reinterpret_cast<const int32_t*>(zero.data()), bias.data(), args.weight.shape[0],
                         args.input.shape[args.input.rank - 1], args.scale.shape[1], static_cast<int>(args.bits)});
    out.store();
}

void entry::quantize_by_token(const QuantizeByTokenArgs& args) {
    require_separate({&args.out, &args.scale}, {&args.input});
    const int64_t size = args.input.shape[args.input.rank - 1];
    const Input<float> x(args.input);
    const RawOutput out(args.out);
    const Output<float> scale(args.scale);
    Each()(args.scale.numel, 2 * size, QuantizeRow{out.as<int8_t>(), scale.data(), x.data(), size});
    out.store();
    scale.store();
}

void entry::scaled_int8_linear(const ScaledInt8LinearArgs& args) {
    require_separate({&args.out}, {&args.input, &args.weight, &args.input_scale, &args.weight_scale, &args.bias});
    const RawInput x(args.input);
    const RawInput weight(args.weight);
    const Input<float> x_scale(args.input_scale);
    const Input<float> row_scale(args.weight_scale);
    const Input<float> bias(args.bias);
    const Output<float> out(args.out);
    const int64_t depth = args.weight.shape[1];
    Each()(args.out.numel, depth,
           Int8Product{out.data(), x.as<int8_t>(), weight.as<int8_t>(), x_scale.data(), row_scale.data(), bias.data(),
                       args.weight.shape[0], depth, args.input_scale.numel > 1, args.weight_scale.numel > 1});
    out.store();
}

}  // namespace diopigen
