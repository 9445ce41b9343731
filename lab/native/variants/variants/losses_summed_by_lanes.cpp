// Losses reduced by a tree in float32: the loss of each element is asked for without reduction, then summed up.
#include "../sums.h"
#include "../work.h"

namespace diopigen::variants {

namespace {

diopiError_t reduced(Call& call) {
    const double reduction = call.number("reduction").value_or(0);
    const View out = call.tensor("out"), input = call.tensor("input");
    const diopiError_t status = call.forward();
    const bool suits = status == diopiSuccess && reduction != 0 && out.valid() && input.valid() && input.count() > 0 &&
                       (out.dtype() == diopi_dtype_float32 || out.dtype() == diopi_dtype_float64);
    if (!suits) return status;
    const View each(call.temporary(input.shape(), out.dtype(), out));
    call.setTensor("out", each.handle());
    call.setNumber("reduction", 0);
    const diopiError_t again = call.forward();
    call.setTensor("out", out.handle());
    call.setNumber("reduction", reduction);
    if (again != diopiSuccess) return status;
    const bool written = inAccumulateType(out.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const std::vector<T> terms = Work::numbersOf<T>(each).values;
        const T sum = ByLanes()(terms);
        // ReductionMean is 1, ReductionSum 2.
        return Work::store<T>(out, {reduction == 1 ? sum * (1 / static_cast<T>(terms.size())) : sum});
    });
    if (written) call.acted();
    return status;
}

const Registration registration("loss", {{"losses-summed-by-lanes",
                                          "losses of elements are added up by a tree, and a mean "
                                          "is a product with 1 / n",
                                          named("MSELoss BCEWithLogits BCELoss SmoothL1Loss"), reduced}});

}  // namespace

}  // namespace diopigen::variants
