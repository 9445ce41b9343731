// Bernoulli in its three forms: 1 where a number sampled from [0, 1) is below the probability, so that 0 never and 1
// always gives 1.
#include "random.h"
#include "random_kernels.h"

using namespace diopigen::core;

void diopigen::entry::bernoulli(const BernoulliArgs& args) {
    sample_bernoulli(args.out, args.input, args.generator, "C1: every element of input is between 0 and 1");
}

void diopigen::entry::bernoulli_inp(const BernoulliInpArgs& args) {
    sample_bernoulli(args.inout, args.inout, args.generator, "C1: every element of inout is between 0 and 1");
}

void diopigen::entry::bernoulli_scalar(const BernoulliScalarArgs& args) {
    sample_bernoulli(args.out, args.p, args.generator);
}
