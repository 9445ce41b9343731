// Reductions in the order of memory.
#include "../reductions.h"
#include "../sums.h"

namespace diopigen::variants {

namespace {

const Registration registration("order of sums",
                                {{"sums-in-sequence", "a reduction adds its terms up one after another",
                                  named("Sum Mean Norm LinalgVecNorm"),
                                  replaced([](Work& work) { return reduceInOrder(work, InSequence()); })}});

}  // namespace

}  // namespace diopigen::variants
