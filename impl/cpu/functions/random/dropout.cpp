// Dropout and DropoutInp. A mask with sizes of 1 shares its draws along those dimensions.
#include "diopi_cpu/dense.h"
#include "diopi_cpu/kernel_checks.h"
#include "kernels.h"
#include "random.h"

using namespace diopi::cpu;

namespace {

// Nobody wants a null mask; one is made where there is something to draw.
template <typename Args>
void thin_out(const Args& args, const Tensor& out) {
    const Tensor& input = args.input;
    if (args.mask.is_null() && !args.train) {
        if (out.data != input.data) {
            copy_elements(out, input);
        }
        return;
    }
    const Tensor mask =
        args.mask.is_null() ? new_tensor(args.ctx, "mask", shape_of(input), Dtype::kBool, input) : args.mask;
    require_separate({&mask}, {&out, &input});
    drop_out(out, mask, input, args.p, args.train, args.generator);
}

}  // namespace

void diopi::kernels::dropout(const DropoutArgs& args) { thin_out(args, args.out); }

void diopi::kernels::dropout_inp(const DropoutInpArgs& args) { thin_out(args, args.input); }
