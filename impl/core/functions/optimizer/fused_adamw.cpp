// FusedAdamW: AdamW on a list of parameters, each with a step number of its own.
#include "optimizer.h"
#include "optimizer_kernels.h"

using namespace diopigen::core;

namespace {

// Nothing is written where a step number is read.
void require_separate_state(const diopigen::entry::FusedAdamWArgs& args, const std::vector<Tensor>& largest) {
    std::vector<Tensor> written;
    for (const std::vector<Tensor>* outputs : {&args.params, &args.exp_avgs, &args.exp_avg_sqs, &largest}) {
        for (const Tensor& output : *outputs) {
            if (!output.is_null()) {
                written.push_back(output);
            }
        }
    }
    for (const Tensor& output : written) {
        for (const Tensor& step : args.state_steps) {
            require_disjoint(output, step);
        }
    }
}

}  // namespace

void diopigen::entry::fused_adam_w(const FusedAdamWArgs& args) {
    std::vector<Tensor> largest = args.max_exp_avg_sqs;
    if (!args.amsgrad) {
        largest.assign(args.params.size(), Tensor());
    }
    for (const Tensor& one : largest) {
        require(!args.amsgrad || !one.is_null(), "C1: max_exp_avg_sqs is given when amsgrad is true");
    }
    require_separate_state(args, largest);
    const AdamWSettings settings{args.lr,           args.beta1,   args.beta2,   args.eps,
                                 args.weight_decay, args.amsgrad, args.maximize};
    std::vector<AdamWStep> steps;
    for (size_t k = 0; k < args.params.size(); ++k) {
        steps.push_back(
            {args.params[k], args.grads[k], args.exp_avgs[k], args.exp_avg_sqs[k], largest[k], args.state_steps[k]});
    }
    take_steps(steps, settings);
}
