// Answers of runtime/contract/memory.h. A line of input is two tensors, each `bytes offset rank sizes... strides...`
// with a size of elements of 1, 2, 4 or 8 bytes and an offset in bytes; a line of output is whether the first overlaps
// itself, and whether both share memory.
#include <iostream>
#include <vector>

#include "memory.h"

using diopigen::contract::TensorView;

namespace {

alignas(16) char memory[1 << 12];

struct Given {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    TensorView view;
};

bool read(Given& given) {
    int64_t bytes = 0;
    int64_t offset = 0;
    int64_t rank = 0;
    if (!(std::cin >> bytes >> offset >> rank)) {
        return false;
    }
    for (std::vector<int64_t>* const list : {&given.sizes, &given.strides}) {
        list->resize(static_cast<size_t>(rank));
        for (int64_t& value : *list) {
            std::cin >> value;
        }
    }
    given.view.dtype = bytes == 1   ? diopi_dtype_uint8
                       : bytes == 2 ? diopi_dtype_int16
                       : bytes == 4 ? diopi_dtype_int32
                                    : diopi_dtype_int64;
    given.view.shape = {given.sizes.data(), rank};
    given.view.stride = {given.strides.data(), rank};
    given.view.data = memory + offset;
    return true;
}

}  // namespace

int main() {
    Given a;
    Given b;
    while (read(a) && read(b)) {
        std::cout << diopigen::contract::overlaps_itself(a.view) << ' '
                  << diopigen::contract::shares_memory(a.view, b.view) << '\n';
    }
}
