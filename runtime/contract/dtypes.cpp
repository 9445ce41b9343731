#include "dtypes.h"

#include <algorithm>
#include <limits>

namespace diopigen::contract {

int category(diopiDtype_t dtype) { return dtype_category(dtype); }

diopiDtype_t to_float(diopiDtype_t dtype) { return category(dtype) >= 2 ? dtype : diopi_dtype_float32; }

diopiDtype_t to_opmath(diopiDtype_t dtype) { return dtype_facts(dtype).compute; }

diopiDtype_t to_real(diopiDtype_t dtype) { return dtype_facts(dtype).real; }

diopiDtype_t to_complex(diopiDtype_t dtype) { return dtype_facts(dtype).complex; }

bool range_of(diopiDtype_t dtype, int64_t& low, uint64_t& high) {
    const DtypeFacts& facts = dtype_facts(dtype);
    const int bits = 8 * facts.bytes;
    switch (facts.kind) {
        case DtypeKind::kBool:
            low = 0;
            high = 1;
            return true;
        case DtypeKind::kUnsigned:
            low = 0;
            high = std::numeric_limits<uint64_t>::max() >> (64 - bits);
            return true;
        case DtypeKind::kSigned:
            low = std::numeric_limits<int64_t>::min() >> (64 - bits);
            high = std::numeric_limits<uint64_t>::max() >> (65 - bits);
            return true;
        default:
            return false;
    }
}

double largest_of(diopiDtype_t dtype) {
    return is_floating(dtype) ? dtype_facts(dtype).largest : std::numeric_limits<double>::max();
}

int64_t exact_integers(diopiDtype_t dtype) {
    int64_t low = 0;
    uint64_t high = 0;
    if (range_of(dtype, low, high)) {
        return static_cast<int64_t>(std::min<uint64_t>(high, std::numeric_limits<int64_t>::max()));
    }
    return int64_t{1} << (is_floating(dtype) ? dtype_facts(dtype).digits : 53);
}

}  // namespace diopigen::contract
