#include "elementwise.h"

namespace diopigen::variants {

int64_t broadcastIndex(const Dims& shape, const Dims& of, int64_t index) {
    int64_t found = 0, stride = 1;
    for (size_t dim = 0; dim < of.size(); ++dim) {
        const int64_t size = of[of.size() - 1 - dim];
        const int64_t own = dim < shape.size() ? shape[shape.size() - 1 - dim] : 1;
        if (own > 1) found += index % size * stride;
        stride *= own;
        index /= size;
    }
    return found;
}

}  // namespace diopigen::variants
