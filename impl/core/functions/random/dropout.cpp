// Dropout and DropoutInp. A mask with sizes of 1 repeats its samples along those dimensions.
#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "random.h"
#include "random_kernels.h"

using namespace diopigen::core;

namespace {

// A null mask is not needed; one is allocated where there is something to sample.
template <typename Args>
void thin_out(const Args& args, const Tensor& out) {
    const Tensor& input = args.input;
    if (args.mask.is_null() && !args.train) {
        if (out.data != input.data) {
            copy_elements(out, input);
        }
        return;
    }
    if (args.mask.is_null()) {
        const Temporary mask(shape_of(input), Dtype::kBool, input);
        drop_out(out, mask.tensor(), input, args.p, args.train, args.generator);
        return;
    }
    require_separate({&args.mask}, {&out, &input});
    drop_out(out, args.mask, input, args.p, args.train, args.generator);
}

}  // namespace

void diopigen::entry::dropout(const DropoutArgs& args) { thin_out(args, args.out); }

void diopigen::entry::dropout_inp(const DropoutInpArgs& args) { thin_out(args, args.input); }
