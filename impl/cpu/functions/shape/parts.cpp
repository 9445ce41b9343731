// SplitWithSizes and MeshGrid: several copies of views.
#include <diopi/functions.h>

#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

std::vector<Tensor> tensors(const char* name, const diopiConstTensorHandle_t* handles, int64_t count) {
    if (handles == nullptr && count > 0) {
        fail(std::string("parameter '") + name + "' is null");
    }
    std::vector<Tensor> result;
    for (int64_t i = 0; i < count; ++i) {
        result.push_back(tensor(name, handles[i], kAny));
    }
    return result;
}

std::vector<Tensor> tensors(const char* name, diopiTensorHandle_t* handles, int64_t count) {
    const std::vector<diopiConstTensorHandle_t> all(handles, handles + (handles == nullptr ? 0 : count));
    return tensors(name, handles == nullptr ? nullptr : all.data(), count);
}

// out i is a copy of view i.
void copy_all(const std::vector<Tensor>& outs, const std::vector<View>& views, const std::vector<Tensor>& inputs) {
    for (size_t i = 0; i < outs.size(); ++i) {
        require_same_dtype(outs[i], views[i].tensor());
        require_shape(outs[i], shape_of(views[i].tensor()));
        require_no_overlap(outs[i]);
        for (const Tensor& input : inputs) {
            require_one_device({&outs[i], &input});
            require_disjoint(outs[i], input);
        }
        for (size_t k = 0; k < i; ++k) {
            require_disjoint(outs[i], outs[k]);
        }
    }
    for (size_t i = 0; i < outs.size(); ++i) {
        copy_elements(outs[i], views[i].tensor());
    }
}

}  // namespace

DIOPI_API diopiError_t diopiSplitWithSizes(diopiContextHandle_t ctx, diopiTensorHandle_t* outs, int64_t num_outs,
                                           diopiConstTensorHandle_t input, const diopiSize_t splitSizes, int64_t dim) {
    return guarded("diopiSplitWithSizes", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        require_sizes("splitSizes", splitSizes);
        require(num_outs == splitSizes.len, "parameter 'num_outs' is not the length of 'splitSizes'");
        require(input_tensor.rank > 0, "parameter 'dim': a 0-d tensor has no dimension to split");
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        const std::vector<Tensor> parts = tensors("outs", outs, num_outs);
        std::vector<View> views;
        int64_t start = 0;
        for (int64_t i = 0; i < splitSizes.len; ++i) {
            const int64_t size = splitSizes.data[i];
            require(size >= 0 && size <= input_tensor.shape[at] - start,
                    "parameter 'splitSizes' has a negative entry, or adds up to more than the dimension");
            views.push_back(narrowed(input_tensor, at, start, size));
            start += size;
        }
        require(start == input_tensor.shape[at], "parameter 'splitSizes' adds up to less than the dimension");
        copy_all(parts, views, {input_tensor});
    });
}

DIOPI_API diopiError_t diopiMeshGrid(diopiContextHandle_t ctx, diopiTensorHandle_t* outs,
                                     diopiConstTensorHandle_t* inputs, int64_t inputsNum) {
    return guarded("diopiMeshGrid", ctx, [&] {
        require(inputsNum >= 1 && inputsNum <= kMaxRank, "C4: inputsNum is in [1, 64]");
        const std::vector<Tensor> vectors = tensors("inputs", inputs, inputsNum);
        const std::vector<Tensor> grids = tensors("outs", outs, inputsNum);
        std::vector<int64_t> shape;
        for (const Tensor& vector : vectors) {
            require_rank(vector, 0, 1);
            require(vector.dtype == vectors.front().dtype, "parameter 'inputs' holds tensors of several dtypes");
            shape.push_back(vector.numel);
        }
        std::vector<View> views;
        for (size_t i = 0; i < vectors.size(); ++i) {
            std::vector<int64_t> strides(shape.size(), 0);
            strides[i] = vectors[i].rank == 0 ? 0 : vectors[i].strides[0];
            views.emplace_back(vectors[i], shape, std::move(strides));
        }
        copy_all(grids, views, vectors);
    });
}
