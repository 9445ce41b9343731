// GatherOutput: tokens by position become tokens by sequence, without the padding of the prompts.
#include "diopi_core/arguments.h"
#include "serving.h"

using namespace diopigen::core;

void diopigen::entry::gather_output(const GatherOutputArgs& args) {
    require_separate({&args.output_ids}, {&args.ids, &args.context_length});
    const Input<Int64> lengths(args.context_length);
    for (int64_t b = 0; b < args.batch_size; ++b) {
        require(lengths[b].value >= 0 && lengths[b].value <= args.max_context_len,
                "C2: every context_length is at least 0 and at most max_context_len");
    }
    const Input<Int64> ids(args.ids);
    const Changed gathered(args.output_ids, Dtype::kInt64);
    parallel_for(args.batch_size, row_grain(args.max_gen_step), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            Int64* to = gathered.as<Int64>() + b * args.max_output_len;
            const int64_t prompt = lengths[b].value;
            for (int64_t i = 0; i < args.max_gen_step; ++i) {
                if (i >= prompt && i < args.max_context_len) {
                    i = args.max_context_len - 1;
                    continue;
                }
                const int64_t at = i < prompt ? i : i - (args.max_context_len - prompt);
                if (at >= args.max_output_len) {
                    break;
                }
                to[at] = ids[i * args.batch_size + b];
            }
        }
    });
    gathered.store();
}
