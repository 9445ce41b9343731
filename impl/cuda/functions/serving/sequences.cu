// LengthCriterion, GatherOutput and the parameters of sampling: a thread to a sequence, or to a token of it.
#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/check.h"
#include "diopi_cuda/launch.h"
#include "serving.h"
#include "serving/runtime_args.h"

namespace diopigen::cuda {

namespace {

using core::serving::Candidates;

// One group counts: there are few sequences.
void finish(Bool* finished, Bool* should_stop, Int64* sum, const Int64* limits, int64_t batch, int64_t step) {
    constexpr int kThreads = 256;
    for_groups(1, kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t) {
        int64_t count = 0;
        for (int64_t b = group.thread(); b < batch; b += group.size()) {
            const bool is_finished = finished[b].value != 0 || step >= limits[b].value;
            finished[b] = Bool(is_finished);
            count += is_finished ? 1 : 0;
        }
        count = group.sum(count);
        if (group.thread() == 0) {
            *should_stop = Bool(count == batch);
            *sum = Int64(count);
        }
    });
}

void check_lengths(const Int64* lengths, int64_t batch, int64_t longest, const char* message) {
    const Check check(message);
    const Finding found = check.finding();
    for_each(batch, [=] DIOPI_KERNEL(int64_t b) {
        if (lengths[b].value < 0 || lengths[b].value > longest) {
            found(lengths[b].value);
        }
    });
    check.conclude();
}

void gather(Int64* to, int64_t room, const Int64* ids, int64_t batch, int64_t positions, const Int64* lengths,
            int64_t longest) {
    for_each(batch * positions, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t i = k / batch;
        const int64_t b = k % batch;
        const int64_t prompt = lengths[b].value;
        const int64_t at = i < prompt ? i : i - (longest - prompt);
        if ((i < prompt || i >= longest) && at < room) {
            to[b * room + at] = ids[k];
        }
    });
}

struct Requested {
    bool is_top_k;  // else top-p sampling
    bool has_own_k;
    bool has_own_p;
    Candidates all;
};

void set_up(Int64* top_ks, float* top_ps, Bool* skip, float* initial, int64_t batch, const Requested& requested) {
    for_each(batch, [=] DIOPI_KERNEL(int64_t b) {
        const Candidates own{requested.has_own_k ? top_ks[b].value : requested.all.top_k,
                             requested.has_own_p ? top_ps[b] : requested.all.top_p};
        const Candidates used = requested.is_top_k ? core::serving::for_top_k(own) : core::serving::for_top_p(own);
        top_ks[b] = Int64(used.top_k);
        top_ps[b] = used.top_p;
        skip[b] = Bool(requested.is_top_k ? used.top_k == 0 : used.top_k > 0);
        if (initial != nullptr) {
            initial[b] = used.top_p;
        }
    });
}

template <typename Args>
void set_up_as(const Args& args, bool is_top_k, const Tensor& initial_tensor) {
    const Changed top_ks(args.top_ks, Dtype::kInt64);
    const Changed top_ps(args.top_ps, Dtype::kFloat32);
    const Output<Bool> skip(args.skip_decode);
    const Output<float> initial(initial_tensor);
    set_up(top_ks.as<Int64>(), top_ps.as<float>(), skip.data(), initial_tensor.is_null() ? nullptr : initial.data(),
           args.batch_size, {is_top_k, args.top_ks_size > 1, args.top_ps_size > 1, {args.top_k, args.top_p}});
    top_ks.store();
    top_ps.store();
    skip.store();
    initial.store();
}

}  // namespace

}  // namespace diopigen::cuda

void diopigen::entry::length_criterion(const LengthCriterionArgs& args) {
    using namespace diopigen::cuda;
    require_separate({&args.finished, &args.should_stop, &args.finished_sum}, {&args.sequence_limit_length});
    const Input<Int64> limits(args.sequence_limit_length);
    const Changed finished(args.finished, Dtype::kBool);
    const Output<Bool> should_stop(args.should_stop);
    const Output<Int64> finished_sum(args.finished_sum);
    finish(finished.as<Bool>(), should_stop.data(), finished_sum.data(), limits.data(), args.batch_size, args.step);
    finished.store();
    should_stop.store();
    finished_sum.store();
}

void diopigen::entry::gather_output(const GatherOutputArgs& args) {
    using namespace diopigen::cuda;
    require_separate({&args.output_ids}, {&args.ids, &args.context_length});
    const Input<Int64> lengths(args.context_length);
    check_lengths(lengths.data(), args.batch_size, args.max_context_len,
                  "C2: every context_length is at least 0 and at most max_context_len");
    const Input<Int64> ids(args.ids);
    const Changed gathered(args.output_ids, Dtype::kInt64);
    gather(gathered.as<Int64>(), args.max_output_len, ids.data(), args.batch_size, args.max_gen_step, lengths.data(),
           args.max_context_len);
    gathered.store();
}

void diopigen::entry::setup_topk_runtime_args_inp(const SetupTopkRuntimeArgsInpArgs& args) {
    diopigen::cuda::set_up_as(args, true, Tensor());
}

void diopigen::entry::setup_topp_runtime_args_inp(const SetupToppRuntimeArgsInpArgs& args) {
    using namespace diopigen::core::serving;
    diopigen::cuda::set_up_as(args, false, args.initial_top_p_buf);
    fill(args.top_p_decay_buf, Number::of(decay_of(args.top_p_decay)));
    fill(args.top_p_min_buf, Number::of(least_mass_of(args.top_p_min)));
    fill(args.top_p_reset_ids_buf, Number::of(args.top_p_reset_ids));
}
