// Reductions as a warp of a GPU adds up.
#include "../reductions.h"
#include "../sums.h"

namespace diopigen::variants {

namespace {

const Registration registration("order of sums",
                                {{"sums-by-lanes", "a reduction adds its terms up in 32 lanes, which meet in a tree",
                                  named("Sum Mean Norm LinalgVecNorm"),
                                  replaced([](Work& work) { return reduceInOrder(work, ByLanes()); })}});

}  // namespace

}  // namespace diopigen::variants
