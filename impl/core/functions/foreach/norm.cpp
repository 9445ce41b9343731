// ForeachnormScalar: the norm of every tensor of a list, in double.
#include "foreach.h"
#include "foreach_kernels.h"

using namespace diopigen::core;

void diopigen::entry::foreachnorm_scalar(const ForeachnormScalarArgs& args) {
    for (const Tensor& input : args.inputs) {
        for (const Tensor& out : args.outs) {
            require_disjoint(out, input);
        }
    }
    norms_of_all(args.outs, args.inputs, args.ord.value());
}
