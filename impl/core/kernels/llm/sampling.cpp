// Masks and penalties of logits, and the draw of the next token.
#include <diopigen_kernels/serving/sampling.h>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "llm.h"
#include "llm/integers.h"

namespace diopigen {

using namespace core;
using namespace kernels::serving;

void entry::mask_logits_inp(const MaskLogitsInpArgs& args) {
    require_separate({&args.logits}, {&args.top_k, &args.top_p, &args.min_p});
    const int64_t rows = args.logits.shape[0];
    const int64_t size = args.logits.shape[1];
    if (args.logits.numel == 0) {
        return;
    }
    const IntegralInput top_k(args.top_k);
    const Input<float> top_p(args.top_p);
    const Input<float> min_p(args.min_p);
    const Changed logits(args.logits, Dtype::kFloat32);
    const Temporary order({rows, size}, Dtype::kInt64, args.logits);
    Each()(rows, 16 * size,
           MaskRow{logits.as<float>(), static_cast<int64_t*>(order.tensor().data), top_k.data(), top_p.data(),
                   min_p.data(), size});
    logits.store();
}

void entry::penalize_logits_inp(const PenalizeLogitsInpArgs& args) {
    require_separate({&args.logits},
                     {&args.prompt_tokens, &args.output_tokens, &args.presence, &args.frequency, &args.repetition});
    const int64_t rows = args.logits.shape[0];
    const int64_t size = args.logits.shape[1];
    const IntegralInput prompt(args.prompt_tokens);
    const IntegralInput output(args.output_tokens);
    const Input<float> presence(args.presence);
    const Input<float> frequency(args.frequency);
    const Input<float> repetition(args.repetition);
    const Changed logits(args.logits, Dtype::kFloat32);
    const Temporary in_prompt({rows, size}, Dtype::kInt32, args.logits);
    const Temporary in_output({rows, size}, Dtype::kInt32, args.logits);
    auto* const prompt_counts = static_cast<int32_t*>(in_prompt.tensor().data);
    auto* const output_counts = static_cast<int32_t*>(in_output.tensor().data);
    Each()(rows, size,
           CountTokens{prompt_counts, output_counts, prompt.data(), output.data(), size, args.prompt_tokens.shape[1],
                       args.output_tokens.shape[1]});
    Each()(rows * size, 2,
           PenalizeLogit{logits.as<float>(), prompt_counts, output_counts, presence.data(), frequency.data(),
                         repetition.data(), size});
    logits.store();
}

void entry::sample_tokens(const SampleTokensArgs& args) {
    require_apart(args.tokens, {&args.logits, &args.uniforms});
    const Input<float> logits(args.logits);
    const Input<float> uniforms(args.uniforms);
    const IntegralOutput tokens(args.tokens);
    Each()(args.logits.shape[0], 16 * args.logits.shape[1],
           SampleToken{tokens.data(), logits.data(), uniforms.data(), args.logits.shape[1]});
    tokens.store();
}

}  // namespace diopigen
