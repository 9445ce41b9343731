// ForeachnormScalar: the norm of every tensor of a list, in double.
#include "foreach.h"
#include "kernels.h"

using namespace diopi::cpu;

void diopi::kernels::foreachnorm_scalar(const ForeachnormScalarArgs& args) {
<<<<<<< HEAD
    for (size_t k = 0; k < args.inputs.size(); ++k) {
        require_dtype(args.outs[k], to_real(args.inputs[k].dtype));
=======
    require_apart(args.outs);
    for (const Tensor& input : args.inputs) {
>>>>>>> 033f8d6 (conformance: find 13 faults of sources that survived; waive, remove or name the others)
        for (const Tensor& out : args.outs) {
            require_disjoint(out, input);
        }
    }
    for (size_t k = 0; k < args.inputs.size(); ++k) {
        norm_of_all(args.outs[k], args.inputs[k], args.ord.value());
    }
}
