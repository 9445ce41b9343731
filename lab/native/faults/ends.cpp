// Calls that never return: the process ends, or nothing comes back.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

bool hasEmptyInput(const Call& call) {
    const std::vector<View> inputs = call.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [](const View& input) { return input.count() == 0; });
}

const Registration registration(
    "end of the process",
    {
        {"abort-on-empty", "an empty input aborts the process", named("Add Cat Softmax LayerNorm IndexSelect"),
         [](Call& call) {
             if (!hasEmptyInput(call)) return call.forward();
             call.acted();
             std::abort();
         }},
        {"abort-on-null", "a null tensor aborts the process", named("Relu Mm Sum Sort AdamW"),
         [](Call& call) {
             if (!call.hasNullTensor()) return call.forward();
             call.acted();
             std::abort();
         }},
        {"exit-on-refusal", "a refusal ends the process with success", named("Convolution2d Gather MSELoss Sgd"),
         [](Call& call) {
             const diopiError_t status = call.forward();
             if (status == diopiSuccess) return status;
             call.acted();
             _exit(0);
         }},
        {"hang-without-dimensions", "a tensor without dimensions is waited for for ever", named("Neg Add"),
         [](Call& call) {
             const std::vector<View> inputs = call.inputs();
             if (inputs.empty() || inputs.front().rank() != 0) return call.forward();
             call.acted();
             for (;;) sleep(1);
         }},
        {"address-0-written", "a 0-d output is written through a null pointer", named("Sqrt Mul Mean"),
         [](Call& call) {
             const std::vector<View> outputs = call.outputs();
             const diopiError_t status = call.forward();
             if (status != diopiSuccess || outputs.empty() || outputs.front().rank() != 0) return status;
             call.acted();
             volatile char* volatile nowhere = nullptr;
             *nowhere = 1;
             return status;
         }},
    });

}  // namespace

}  // namespace diopigen::mutant
