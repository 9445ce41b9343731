// Products of matrices with something added.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_MATRICES_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_MATRICES_H_

#include <diopi/functions.h>

#include "arithmetic.h"
#include "arrangement.h"
#include "composite.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

// beta * input + alpha * product; an input that counts for nothing is not read, NaN or not.
inline Value weighted(Composite& c, diopiConstTensorHandle_t input, double beta, Value matrices, double alpha) {
    const Value right = alpha == 1.0 ? matrices : c.factor(alpha) * matrices;
    if (beta == 0.0) {
        return right;
    }
    return (beta == 1.0 ? c.tensor(input) : c.factor(beta) * c.tensor(input)) + right;
}

inline void addmm(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat1,
                  diopiConstTensorHandle_t mat2, const diopiScalar_t* beta, const diopiScalar_t* alpha) {
    const Value matrices = product(c.tensor(mat1), c.tensor(mat2));
    c.store(out, weighted(c, input, beta == nullptr ? 1.0 : Composite::valueOf(beta), matrices,
                          alpha == nullptr ? 1.0 : Composite::valueOf(alpha)));
}

inline void baddbmm(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiConstTensorHandle_t batch1, diopiConstTensorHandle_t batch2, double beta, double alpha) {
    c.store(out, weighted(c, input, beta, product(c.tensor(batch1), c.tensor(batch2)), alpha));
}

inline void linear(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                   diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    const Value result = product(c.tensor(input), transposed(c.tensor(weight), 0, 1));
    c.store(out, bias == nullptr ? result : result + c.tensor(bias));
}

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_MATRICES_H_
