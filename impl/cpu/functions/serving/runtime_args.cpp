// SetupTopkRuntimeArgs and SetupToppRuntimeArgs: the parameters of sampling for each sequence.
#include "serving/runtime_args.h"

#include <algorithm>

#include "diopi_core/arguments.h"
#include "serving.h"

using namespace diopigen::core;
using namespace diopigen::core::serving;

namespace {

// Applies `use` to the parameters of every sequence: those of the tensors where they hold several values, else the
// numbers. `skip(top_k)` tells the sequences of the other sampling.
template <typename Args, typename Use, typename Skip>
void set_up(const Args& args, Use&& use, Skip&& skip) {
    const Changed top_ks(args.top_ks, Dtype::kInt64);
    const Changed top_ps(args.top_ps, Dtype::kFloat32);
    const Output<Bool> skip_decode(args.skip_decode);
    for (int64_t b = 0; b < args.batch_size; ++b) {
        Int64& top_k = top_ks.as<Int64>()[b];
        float& top_p = top_ps.as<float>()[b];
        const Candidates used =
            use({args.top_ks_size > 1 ? top_k.value : args.top_k, args.top_ps_size > 1 ? top_p : args.top_p});
        top_k = Int64(used.top_k);
        top_p = used.top_p;
        skip_decode[b] = Bool(skip(used.top_k));
    }
    top_ks.store();
    top_ps.store();
    skip_decode.store();
}

}  // namespace

void diopigen::entry::setup_topk_runtime_args_inp(const SetupTopkRuntimeArgsInpArgs& args) {
    set_up(args, for_top_k, [](int64_t top_k) { return top_k == 0; });
}

void diopigen::entry::setup_topp_runtime_args_inp(const SetupToppRuntimeArgsInpArgs& args) {
    set_up(args, for_top_p, [](int64_t top_k) { return top_k > 0; });
    const Input<float> masses(args.top_ps);
    const Output<float> initial(args.initial_top_p_buf);
    std::copy_n(masses.data(), args.batch_size, initial.data());
    initial.store();
    fill(args.top_p_decay_buf, Number::of(decay_of(args.top_p_decay)));
    fill(args.top_p_min_buf, Number::of(least_mass_of(args.top_p_min)));
    fill(args.top_p_reset_ids_buf, Number::of(args.top_p_reset_ids));
}
