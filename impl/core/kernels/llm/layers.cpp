// Rotary embedding by positions, gated activations, and rows of a sharded table.
#include <diopigen_kernels/serving/layers.h>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "llm.h"
#include "llm/element_rules.h"
#include "llm/integers.h"

namespace diopigen {

using namespace core;
using namespace kernels::serving;

namespace {

void activate_halves(const Tensor& out, const Tensor& input, Gate gate) {
    require_apart(out, {&input});
    const Input<float> from(input);
    const Output<float> to(out);
    Each()(out.numel, 16, GatedElement{to.data(), from.data(), out.shape[out.rank - 1], gate});
    to.store();
}

}  // namespace

void entry::rotary_embedding_by_position_inp(const RotaryEmbeddingByPositionInpArgs& args) {
    require_separate({&args.query, &args.key}, {&args.positions, &args.cos_sin});
    const IntegralInput positions(args.positions);
    const Input<float> table(args.cos_sin);
    const int64_t rotated = args.cos_sin.shape[1];
    require_within(positions.data(), args.positions.numel, 0, args.cos_sin.shape[0],
                   "C4: every position is a row of cos_sin");
    for (const Tensor* target : {&args.query, &args.key}) {
        if (target->is_null() || target->numel == 0) {
            continue;
        }
        const Changed elements(*target, Dtype::kFloat32);
        const int64_t heads = target->numel / args.positions.numel / args.head_size;
        Each()(args.positions.numel * heads * rotated / 2, 4,
               RotatePair{elements.as<float>(), table.data(), positions.data(), heads, args.head_size, rotated,
                          args.is_interleaved});
        elements.store();
    }
}

void entry::silu_and_mul(const SiluAndMulArgs& args) { activate_halves(args.out, args.input, Gate::kSilu); }

void entry::gelu_and_mul(const GeluAndMulArgs& args) {
    activate_halves(args.out, args.input, args.approximate == "tanh" ? Gate::kGeluTanh : Gate::kGelu);
}

void entry::sharded_embedding(const ShardedEmbeddingArgs& args) {
    require_apart(args.out, {&args.weight, &args.tokens});
    const IntegralInput tokens(args.tokens);
    dispatch_word(args.weight.dtype, [&](auto word) {
        using Word = decltype(word);
        const RawInput weight(args.weight);
        const RawOutput out(args.out);
        Each()(args.out.numel, 1,
               ShardedElement<Word>{out.as<Word>(), weight.as<Word>(), tokens.data(), args.first_token,
                                    args.weight.shape[0], args.weight.shape[1]});
        out.store();
    });
}

}  // namespace diopigen
