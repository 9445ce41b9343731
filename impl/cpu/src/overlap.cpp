// Which bytes two tensors share. An answer may err on the side of refusal where strides interleave in ways that cost
// too much to untangle.
#include <cstdint>
#include <numeric>

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

namespace {

struct Extent {
    const char* begin;
    const char* end;
};

Extent extent(const Tensor& tensor) {
    const auto* data = static_cast<const char*>(tensor.data);
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.rank; ++i) {
        last += (tensor.shape[i] - 1) * tensor.strides[i];
    }
    return {data, data + (last + 1) * size_of(tensor.dtype)};
}

bool has_same_elements(const Tensor& a, const Tensor& b) {
    if (a.data != b.data || a.dtype != b.dtype || !is_same_shape(a, b)) {
        return false;
    }
    for (int64_t i = 0; i < a.rank; ++i) {
        if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) {
            return false;
        }
    }
    return true;
}

// Whether two tensors whose extents meet cannot share a byte because their elements lie on different residues of a
// common step, such as the even and the odd elements of one storage, or two columns of a matrix.
bool interleaves(const Tensor& a, const Tensor& b) {
    int64_t step = 0;
    for (const Tensor* tensor : {&a, &b}) {
        for (int64_t i = 0; i < tensor->rank; ++i) {
            if (tensor->shape[i] > 1) {
                step = std::gcd(step, tensor->strides[i] * size_of(tensor->dtype));
            }
        }
    }
    if (step == 0) {
        return false;
    }
    const auto address = [](const Tensor& tensor) { return reinterpret_cast<intptr_t>(tensor.data); };
    const int64_t offset = ((address(b) - address(a)) % step + step) % step;
    return offset >= size_of(a.dtype) && step - offset >= size_of(b.dtype);
}

bool shares_bytes(const Tensor& a, const Tensor& b) {
    if (a.is_null() || b.is_null() || a.numel == 0 || b.numel == 0) {
        return false;
    }
    const Extent x = extent(a);
    const Extent y = extent(b);
    return x.begin < y.end && y.begin < x.end && !interleaves(a, b);
}

}  // namespace

void require_no_overlap(const Tensor& written) {
    if (written.is_null() || written.numel < 2) {
        return;
    }
    const auto refuse = [&] { fail(std::string("parameter '") + written.name + "' has elements that share memory"); };
    // Dimensions in rising order of stride: each must step beyond what the smaller ones reach.
    int64_t reach = 1;
    int64_t done = 0;
    while (true) {
        int64_t next = -1;
        for (int64_t i = 0; i < written.rank; ++i) {
            const bool is_later = written.strides[i] > done;
            if (written.shape[i] > 1 && is_later && (next < 0 || written.strides[i] < written.strides[next])) {
                next = i;
            }
        }
        if (next < 0) {
            break;
        }
        done = written.strides[next];
        bool is_first = true;
        for (int64_t i = 0; i < written.rank; ++i) {
            if (written.shape[i] > 1 && written.strides[i] == done) {
                if (!is_first || done < reach) {
                    refuse();
                }
                reach = done * (written.shape[i] - 1) + reach;
                is_first = false;
            }
        }
    }
    for (int64_t i = 0; i < written.rank; ++i) {
        if (written.shape[i] > 1 && written.strides[i] == 0) {
            refuse();
        }
    }
}

void require_disjoint(const Tensor& written, const Tensor& other) {
    if (shares_bytes(written, other)) {
        fail(std::string("parameters '") + written.name + "' and '" + other.name + "' share memory");
    }
}

void require_no_overlap(const Tensor& written, const Tensor& other) {
    if (shares_bytes(written, other) && !has_same_elements(written, other)) {
        fail(std::string("parameters '") + written.name + "' and '" + other.name +
             "' overlap in memory without being the same elements");
    }
}

}  // namespace diopi::cpu
