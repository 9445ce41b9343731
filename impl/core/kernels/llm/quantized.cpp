// Linear layers of quantized weights, and the quantization of activations.
#include <diopigen_kernels/serving/quantized.h>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "llm.h"
#include "llm/element_rules.h"
#include "llm/float8.h"
#include "llm/integers.h"

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
    const int64_t depth = args.input.shape[args.input.rank - 1];
    const PackedMatrix rows{reinterpret_cast<const int32_t*>(weight.data()),
                            scale.data(),
                            reinterpret_cast<const int32_t*>(zero.data()),
                            args.weight.shape[0],
                            args.scale.shape[1],
                            static_cast<int>(args.bits)};
    Each()(args.out.numel, depth, PackedProduct{out.data(), x.data(), rows, bias.data(), depth});
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

void entry::gptq_linear(const GptqLinearArgs& args) {
    require_separate({&args.out},
                     {&args.input, &args.weight, &args.scale, &args.zero_point, &args.group_index, &args.bias});
    const int64_t depth = args.input.shape[args.input.rank - 1];
    const Input<float> x(args.input);
    const Input<Int32> weight(args.weight);
    const Input<float> scale(args.scale);
    const Input<Int32> zero(args.zero_point);
    const IntegralInput group(args.group_index);
    const Input<float> bias(args.bias);
    if (!args.group_index.is_null()) {
        require_within(group.data(), depth, 0, args.scale.shape[0], "C5: every row of weights has a group of scale");
    }
    const Output<float> out(args.out);
    Each()(args.out.numel, depth,
           GptqProduct{out.data(), x.data(), reinterpret_cast<const int32_t*>(weight.data()), scale.data(),
                       reinterpret_cast<const int32_t*>(zero.data()), group.data(), bias.data(), args.scale.shape[1],
                       depth, args.scale.shape[0], args.zero_offset, static_cast<int>(args.bits)});
    out.store();
}

void entry::awq_linear(const AwqLinearArgs& args) {
    require_separate({&args.out}, {&args.input, &args.weight, &args.scale, &args.zero_point, &args.bias});
    const int64_t depth = args.weight.shape[0];
    const Input<float> x(args.input);
    const Input<Int32> weight(args.weight);
    const Input<float> scale(args.scale);
    const Input<Int32> zero(args.zero_point);
    const Input<float> bias(args.bias);
    const Output<float> out(args.out);
    Each()(args.out.numel, depth,
           AwqProduct{out.data(), x.data(), reinterpret_cast<const int32_t*>(weight.data()), scale.data(),
                      reinterpret_cast<const int32_t*>(zero.data()), bias.data(), args.scale.shape[1], depth,
                      args.scale.shape[0]});
    out.store();
}

void entry::quantize_float8_by_token(const QuantizeFloat8ByTokenArgs& args) {
    require_separate({&args.out, &args.scale}, {&args.input});
    const int64_t size = args.input.shape[args.input.rank - 1];
    const int64_t groups = args.scale.rank == 0 ? 1 : args.scale.shape[args.scale.rank - 1];
    const Input<float> x(args.input);
    const Tensor target = bytes_of(args.out);
    const RawOutput out(target);
    const Output<float> scale(args.scale);
    Each()(args.scale.numel, 2 * size,
           QuantizeFloat8Group{out.as<uint8_t>(), scale.data(), x.data(), size,
                               args.group_size > 0 ? args.group_size : size, groups, float8_of(args.out)});
    out.store();
    scale.store();
}

void entry::quantize_float8(const QuantizeFloat8Args& args) {
    require_apart(args.out, {&args.input, &args.scale});
    const Input<float> x(args.input);
    const Input<float> scale(args.scale);
    const Tensor target = bytes_of(args.out);
    const RawOutput out(target);
    Each()(args.out.numel, 4, QuantizeFloat8Element{out.as<uint8_t>(), x.data(), scale.data(), float8_of(args.out)});
    out.store();
}

void entry::scaled_float8_linear(const ScaledFloat8LinearArgs& args) {
    require_separate({&args.out}, {&args.input, &args.weight, &args.input_scale, &args.weight_scale, &args.bias});
    require_rank(args.input, 1, kMaxRank);
    require_rank(args.weight, 2, 2);
    const int64_t width = args.weight.shape[0];
    const int64_t depth = args.weight.shape[1];
    const bool is_power = args.weight_scale.dtype == Dtype::kFloat8E8m0fnu;
    const Tensor input = bytes_of(args.input);
    const Tensor weights = bytes_of(args.weight);
    const Tensor factors = is_power ? bytes_of(args.weight_scale) : args.weight_scale;
    const RawInput x(input);
    const RawInput weight(weights);
    const Input<float> x_scale(args.input_scale);
    const RawInput weight_scale(factors);
    const Input<float> bias(args.bias);
    const Output<float> out(args.out);
    const auto scales = [&](const Tensor& tensor, const void* data, bool is_power_of_two, int64_t rows) {
        const int64_t count = tensor.rank == 0 ? 1 : tensor.shape[tensor.rank - 1];
        return Float8Product::scales(data, is_power_of_two, rows, count > 0 ? tensor.numel / count : 0, count,
                                     args.block);
    };
    Each()(args.out.numel, depth,
           Float8Product{out.data(), x.as<uint8_t>(), weight.as<uint8_t>(),
                         scales(args.input_scale, x_scale.data(), false, width > 0 ? args.out.numel / width : 0),
                         scales(args.weight_scale, weight_scale.as<char>(), is_power, width), bias.data(), width, depth,
                         args.block, float8_of(args.input), float8_of(args.weight)});
    out.store();
}

}  // namespace diopigen
