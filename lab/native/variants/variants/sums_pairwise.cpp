// Reductions by halves.
#include "../reductions.h"
#include "../sums.h"

namespace diopigen::variants {

namespace {

const Registration registration("order of sums", {{"sums-pairwise", "a reduction adds halves of its terms up apart",
                                                   named("Sum Mean Norm LinalgVecNorm"), replaced([](Work& work) {
                                                       return reduceInOrder(work, Pairwise());
                                                   })}});

}  // namespace

}  // namespace diopigen::variants
