// OneHot: a row of zeros with a single 1 for every class number.
#include "indexing.h"
#include "indexing_kernels.h"
#include "positions.h"

using namespace diopigen::core;

namespace {

// The number of classes that the largest one tells.
int64_t classes_of(const Tensor& input) {
    const int64_t largest = largest_class(input);
    require(largest >= 0 && largest < INT64_MAX,
            "C1: every value of input is in [0, num_classes - 1], or not negative where num_classes is -1");
    return largest + 1;
}

}  // namespace

void diopigen::entry::one_hot(const OneHotArgs& args) {
    const int64_t classes = args.num_classes == -1 ? classes_of(args.input) : args.num_classes;
    std::vector<int64_t> shape = shape_of(args.input);
    shape.push_back(classes);
    require_shape(args.out, shape);
    require_disjoint(args.out, args.input);
    const Positions positions(args.input, classes);
    mark_classes(args.out, positions);
}
