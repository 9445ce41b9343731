// Randperm (Fisher and Yates) and Multinomial.
#include "diopi_core/dense.h"
#include "random.h"
#include "random_kernels.h"

using namespace diopigen::core;

void diopigen::entry::randperm(const RandpermArgs& args) { permute(args.out, args.n, args.generator); }

void diopigen::entry::multinomial(const MultinomialArgs& args) {
    const Tensor& weights = args.input;
    std::vector<int64_t> shape = shape_of(weights);
    shape.back() = args.num_samples;
    require_shape(args.out, shape);
    require_disjoint(args.out, weights);
    const int64_t rows = weights.rank == 2 ? weights.shape[0] : 1;
    choose(args.out, weights, rows, weights.shape[weights.rank - 1], args.num_samples, args.replacement,
           args.generator);
}
