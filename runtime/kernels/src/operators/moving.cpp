#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/operators.h>

namespace diopigen::kernels::operators {
namespace {

// Result 0 is operand 1 in its dtype and broadcast to its shape.
Status converted(const Launch& launch, const Call& call) {
    Shape shape = call.shape(0);
    if (!broadcast(&shape, call.shape(1)) || !call.haveShape({0}, shape) ||
        (isReal(call.dtype(1)) && !isReal(call.dtype(0)))) {
        return call.rejected();
    }
    return call.launch(launch, [](const Kernel& k) { convert(k, 0, 1); });
}

}  // namespace

Status castDtype(const Launch& launch, Context ctx, Out out, In input) {
    const Call call(ctx, "diopiCastDtype", {out}, {input});
    return call.haveShape({0}, call.shape(1)) ? converted(launch, call) : call.rejected();
}

Status copyInp(const Launch& launch, Context ctx, In src, Out dest) {
    return converted(launch, Call(ctx, "diopiCopyInp", {dest}, {src}));
}

}  // namespace diopigen::kernels::operators
