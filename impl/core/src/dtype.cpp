#include "diopi_core/dtype.h"

namespace diopigen::core {

int category(Dtype dtype) { return dtype_category(to_public(dtype)); }

const char* name_of(Dtype dtype) {
    return dtype == Dtype::kUnsupported ? "an unsupported dtype" : dtype_name(to_public(dtype));
}

}  // namespace diopigen::core
