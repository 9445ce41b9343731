// State that outlives a call: running statistics, moments of optimizers.
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// The call finds a copy in the place of `name`; what it writes there is lost.
Fault notUpdated(const char* name, const char* sentence, Selector where = every()) {
    const std::string fault = std::string(name) + "-not-updated";
    return {fault, sentence, having(name) && std::move(where), [=](Call& call) {
                const View view = call.tensor(name);
                const Parameter* parameter = call.parameter(name);
                if (!view.valid() || view.count() == 0 || !parameter->isWritten()) return call.forward();
                const std::vector<char> before = view.packed();
                const diopiError_t status = call.forward();
                if (status == diopiSuccess && view.packed() != before) {
                    view.unpack(before);
                    call.acted();
                }
                return status;
            }};
}

const Registration registration(
    "state", {
                 notUpdated("running_mean", "the running mean stays as it is"),
                 notUpdated("running_var", "the running variance stays as it is"),
                 notUpdated("exp_avg", "the first moment stays as it is"),
                 notUpdated("exp_avg_sq", "the second moment stays as it is"),
                 notUpdated("max_exp_avg_sq", "the largest second moment stays as it is"),
                 notUpdated("buf", "the buffer of momentum stays as it is"),
                 notUpdated("square_avg", "the mean of squares stays as it is"),
                 notUpdated("acc_delta", "the mean of steps stays as it is"),
                 notUpdated("grad_avg", "the mean of gradients stays as it is"),
                 notUpdated("momentum_buf", "the buffer of momentum stays as it is"),
                 notUpdated("param", "the parameter stays as it is", family("optimizer")),
                 notUpdated("growth_tracker", "the tracker of growth stays as it is"),
                 notUpdated("current_scale", "the scale stays as it is"),
                 {"momentum-swapped", "momentum weighs the old statistics",
                  named("BatchNorm BatchNormGatherStatsWithCounts"), beforehand([](Call& call) {
                      const auto momentum = call.number("momentum");
                      return momentum.has_value() && call.setNumber("momentum", 1 - *momentum);
                  })},
                 {"running-variance-biased", "the running variance is that of the batch, not of what it was drawn from",
                  named("BatchNorm"),
                  [](Call& call) {
                      const View running = call.tensor("running_var"), input = call.tensor("input");
                      std::vector<double> before;
                      for (int64_t index = 0; index < running.count(); ++index) before.push_back(running.real(index));
                      const diopiError_t status = call.forward();
                      if (status != diopiSuccess || call.number("training").value_or(0) == 0 || running.count() == 0)
                          return status;
                      const auto count = static_cast<double>(input.count() / running.count());
                      const double momentum = call.number("momentum").value_or(0.1);
                      for (int64_t index = 0; index < running.count(); ++index) {
                          const double retained = (1 - momentum) * before[static_cast<size_t>(index)];
                          running.setReal(index, retained + (running.real(index) - retained) * (count - 1) / count);
                      }
                      if (count > 1 && momentum != 0) call.acted();
                      return status;
                  }},
                 {"adamw-as-adam", "weights decay through the gradient", named("AdamW"),
                  [](Call& call) {
                      const auto decay = call.number("weight_decay");
                      const View gradient = call.tensor("grad"), param = call.tensor("param");
                      if (decay.value_or(0) == 0 || !gradient.valid() || gradient.count() != param.count())
                          return call.forward();
                      diopiTensorHandle_t created = call.copyOf(gradient);
                      const View copy(created);
                      for (int64_t index = 0; index < copy.count(); ++index) {
                          copy.setReal(index, gradient.real(index) + *decay * param.real(index));
                      }
                      call.setTensor("grad", created);
                      call.setNumber("weight_decay", 0);
                      call.acted();
                      return call.forward();
                  }},
                 {"bias-not-corrected", "moments are not corrected for their beginning at zero", named("Adam AdamW"),
                  beforehand([](Call& call) { return call.setNumber("step", 1000000); })},
                 {"gradient-read-with-wrong-sign", "optimizers go up", family("optimizer"), beforehand([](Call& call) {
                      const View gradient = call.tensor("grad");
                      if (!gradient.valid() || gradient.count() == 0) return false;
                      diopiTensorHandle_t created = call.copyOf(gradient);
                      const View copy(created);
                      for (int64_t index = 0; index < copy.count(); ++index) copy.setReal(index, -gradient.real(index));
                      call.setTensor("grad", created);
                      return true;
                  })},
                 {"second-list-not-updated", "the moments of a fused optimizer stay as they are", named("FusedAdamW"),
                  [](Call& call) {
                      std::vector<std::pair<View, std::vector<char>>> before;
                      const auto handles = call.outputHandles();
                      const auto params = static_cast<size_t>(call.number("nums").value_or(0));
                      for (size_t i = params; i < handles.size(); ++i) {
                          const View view(*handles[i]);
                          before.emplace_back(view, view.packed());
                      }
                      const diopiError_t status = call.forward();
                      for (auto& [view, old] : before) {
                          if (status != diopiSuccess || view.packed() == old) continue;
                          view.unpack(old);
                          call.acted();
                      }
                      return status;
                  }},
             });

}  // namespace

}  // namespace diopigen::mutant
