// Mixtures of experts: TopkGating, FusedExperts, PackedExperts, GroupedGemm.
#include <diopigen_kernels/serving/experts.h>
#include <diopigen_kernels/serving/quantized.h>

#include <optional>
#include <type_traits>

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

namespace {

template <typename Element>
ExpertMatrix<Element> matrix_of(const Tensor& weight, const ExpertScales& scales = {}) {
    return {static_cast<const Element*>(weight.data), weight.strides[0], weight.strides[1], weight.strides[2], scales};
}

ExpertScales scales_of(const Tensor& scale, const float* data, const Tensor& weight, int64_t block) {
    return scale.is_null() ? ExpertScales{}
                           : ExpertScales::of(data, &scale.shape[1], weight.shape[1], weight.shape[2], block);
}

Gate gate_of(std::string_view activation) {
    return activation == "silu" ? Gate::kSilu : activation == "gelu" ? Gate::kGelu : Gate::kGeluTanh;
}

// Packed weights with their scales and zeros, without gaps.
class PackedOperand {
  public:
    PackedOperand(const Tensor& weight, const Tensor& scale, const Tensor& zero, int64_t bits)
        : packed_(weight),
          factors_(scale),
          zeros_(zero),
          rows_(weight.shape[1]),
          groups_(scale.shape[2]),
          bits_(static_cast<int>(bits)) {}
    PackedMatrix matrix() const {
        return {reinterpret_cast<const int32_t*>(packed_.data()),
                factors_.data(),
                reinterpret_cast<const int32_t*>(zeros_.data()),
                rows_,
                groups_,
                bits_};
    }

  private:
    Input<Int32> packed_;
    Input<float> factors_;
    Input<Int32> zeros_;
    int64_t rows_, groups_;
    int bits_;
};

// The layers of all experts; `visit` gets what computes them by their two matrices.
template <typename Args, typename Visit>
void feed_forward(const Args& args, int64_t inner, Visit&& visit) {
    const IntegralInput experts(args.experts);
    const IntegralInput local(args.expert_map);
    const int64_t count = args.down_weight.shape[0];
    const int64_t known = args.expert_map.is_null() ? count : args.expert_map.numel;
    require_within(experts.data(), args.experts.numel, INT64_MIN, known,
                   "C1: every expert is one of the weights, or of expert_map");
    if (!args.expert_map.is_null()) {
        require_within(local.data(), known, INT64_MIN, count, "C2: every number of expert_map is one of the weights");
    }
    const Input<float> x(args.input);
    const Input<float> weights(args.weights);
    const Input<float> first_bias(args.gate_up_bias);
    const Input<float> second_bias(args.down_bias);
    const Output<float> out(args.out);
    const int64_t tokens = args.input.shape[0];
    const int64_t hidden = args.input.shape[1];
    const int64_t top = args.experts.shape[1];
    const Temporary between({tokens, top, inner}, Dtype::kFloat32, args.input);
    float* const values = between.tensor().template elements<float>();
    const LocalExpert expert_at{experts.data(), local.data()};
    visit([&](const auto& first, const auto& second) {
        using Matrix = std::decay_t<decltype(first)>;
        Each()(tokens * top * inner, 2 * hidden,
               ExpertHidden<Matrix>{values, x.data(), first, first_bias.data(), expert_at, top, inner, hidden,
                                    gate_of(args.activation)});
        Each()(tokens * hidden, top * inner,
               ExpertSum<Matrix>{out.data(), values, second, second_bias.data(), weights.data(), expert_at, top, inner,
                                 hidden});
    });
    out.store();
}

// An owner for each group.
template <typename Finding>
struct GroupIsInOrder {
    const int64_t* ends;
    int64_t rows;
    Finding wrong;

    DIOPI_HOST_DEVICE void operator()(int64_t group) const {
        if (ends[group] < (group == 0 ? 0 : ends[group - 1]) || ends[group] > rows) {
            wrong(ends[group]);
        }
    }
};

}  // namespace

void entry::topk_gating(const TopkGatingArgs& args) {
    require_separate({&args.weights, &args.experts}, {&args.gating, &args.bias});
    const Input<float> gates(args.gating);
    const Input<float> bias(args.bias);
    const Output<float> weights(args.weights);
    const IntegralOutput experts(args.experts);
    const int64_t tokens = args.gating.shape[0];
    const int64_t all = args.gating.shape[1];
    const Temporary scores({tokens, all}, Dtype::kFloat64, args.gating);
    const Temporary choice({tokens, all}, Dtype::kFloat64, args.gating);
    Each()(tokens, all * args.top_k,
           ChooseExperts{weights.data(), experts.data(), gates.data(), bias.data(), scores.tensor().elements<double>(),
                         choice.tensor().elements<double>(), all, args.top_k, args.num_groups, args.top_groups,
                         args.scoring == "sigmoid", args.renormalize, args.scaling});
    weights.store();
    experts.store();
}

void entry::fused_experts(const FusedExpertsArgs& args) {
    require_separate({&args.out},
                     {&args.input, &args.gate_up_weight, &args.down_weight, &args.weights, &args.experts,
                      &args.gate_up_bias, &args.down_bias, &args.expert_map, &args.gate_up_scale, &args.down_scale});
    const Input<float> first_scale(args.gate_up_scale);
    const Input<float> second_scale(args.down_scale);
    const ExpertScales first = scales_of(args.gate_up_scale, first_scale.data(), args.gate_up_weight, args.block);
    const ExpertScales second = scales_of(args.down_scale, second_scale.data(), args.down_weight, args.block);
    feed_forward(args, args.down_weight.shape[2], [&](auto&& layers) {
        dispatch_stored(args.gate_up_weight, [&](auto sample) {
            using Element = decltype(sample);
            layers(matrix_of<Element>(args.gate_up_weight, first), matrix_of<Element>(args.down_weight, second));
        });
    });
}

void entry::packed_experts(const PackedExpertsArgs& args) {
    require_separate({&args.out}, {&args.input, &args.gate_up_weight, &args.down_weight, &args.gate_up_scale,
                                   &args.down_scale, &args.weights, &args.experts, &args.gate_up_zero, &args.down_zero,
                                   &args.gate_up_bias, &args.down_bias, &args.expert_map});
    const PackedOperand first(args.gate_up_weight, args.gate_up_scale, args.gate_up_zero, args.bits);
    const PackedOperand second(args.down_weight, args.down_scale, args.down_zero, args.bits);
    feed_forward(args, args.gate_up_weight.shape[1] / 2,
                 [&](auto&& layers) { layers(first.matrix(), second.matrix()); });
}

void entry::grouped_gemm(const GroupedGemmArgs& args) {
    require_separate({&args.out}, {&args.input, &args.weight, &args.bias, &args.group_ends});
    const IntegralInput ends(args.group_ends);
    const int64_t groups = args.group_ends.numel;
    const int64_t rows = args.input.shape[0];
    ElementCheck check("C1: group_ends never falls and is within the rows");
    Each()(groups, 1, GroupIsInOrder<decltype(check.finding())>{ends.data(), rows, check.finding()});
    check.conclude();
    const Input<float> x(args.input);
    const Input<float> bias(args.bias);
    const Changed out(args.out, Dtype::kFloat32);
    const int64_t width = args.out.shape[1];
    const int64_t depth = args.input.shape[1];
    dispatch<kFloat16 | kBfloat16 | kFloat32>(args.input.dtype, [&](auto sample) {
        using Element = decltype(sample);
        Each()(rows * width, depth,
               GroupedProduct<Element>{out.as<float>(), x.data(), matrix_of<Element>(args.weight), bias.data(),
                                       ends.data(), groups, width, depth});
    });
    out.store();
}

}  // namespace diopigen
