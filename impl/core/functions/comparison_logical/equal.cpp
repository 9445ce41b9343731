// Equal: whether two tensors have one shape and equal elements.
#include "comparison_logical.h"
#include "comparison_logical_kernels.h"

using namespace diopigen::core;

void diopigen::entry::equal(const EqualArgs& args) {
    if (!is_same_shape(args.input, args.other)) {
        *args.out = false;
        return;
    }
    equal_elements(args.out, args.input, args.other);
}
