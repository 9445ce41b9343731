// Sums at indices in the reverse of memory's order, in the accumulate type, as atomic additions of a GPU may come.
#include <string>

#include "../groups.h"

namespace diopigen::variants {

namespace {

// Adds a[i] to sums[index(i)] from the last i to the first.
template <typename T, typename Index>
void addReversed(std::vector<T>& sums, const Array<T>& terms, const Index& index) {
    for (int64_t i = terms.count() - 1; i >= 0; --i) {
        const int64_t to = index(i);
        if (to >= 0) sums[static_cast<size_t>(to)] += terms[i];
    }
}

template <typename T>
bool embedding(Work& work) {
    const Array<T> grad = work.read<T>("grad");
    const View indices = work.call().tensor("indices"), out = work.call().tensor("out");
    if (work.number("scale_grad_byfreq") != 0 || indices.count() == 0) return false;
    const int64_t size = grad.count() / indices.count(), padding = work.integer("padding_idx");
    std::vector<T> sums(static_cast<size_t>(out.count()), 0);
    addReversed(sums, grad, [&](int64_t i) {
        const int64_t row = indices.integerAt(i / size);
        return row == padding ? -1 : row * size + i % size;
    });
    return Work::store(out, sums);
}

// Gradients of IndexSelect and Gather, and Scatter that adds.
template <typename T>
bool along(Work& work, const char* source, const char* target) {
    const Array<T> terms = work.read<T>(source);
    const View index = work.call().tensor("index"), out = work.call().tensor(target);
    const bool select = work.call().hasPrefix("IndexSelect"), scatter = work.call().hasPrefix("Scatter");
    if (scatter && work.call().text("reduce").value_or("") != "add") return false;
    const int64_t rank = out.rank();
    if (rank == 0 || (!select && index.shape() != terms.shape)) return false;
    const int64_t dim = (work.integer("dim") + rank) % rank;
    std::vector<T> sums(static_cast<size_t>(out.count()), 0);
    if (scatter) sums = work.read<T>("input").values;
    addReversed(sums, terms, [&](int64_t i) {
        int64_t to = 0, stride = 1, left = i;
        for (int64_t d = rank - 1; d >= 0; --d) {
            const int64_t own = left % terms.size(d);
            left /= terms.size(d);
            const int64_t at = d != dim ? own : index.integerAt(select ? own : i);
            to += (at < 0 ? at + out.size(d) : at) * stride;
            stride *= out.size(d);
        }
        return to;
    });
    return Work::store(out, sums);
}

bool compute(Work& work) {
    const std::string name = work.call().function();
    const char* source = name == "EmbeddingBackward" || name == "IndexSelectBackward" ? "grad"
                         : name == "GatherBackward"                                   ? "grad_output"
                                                                                      : "src";
    return inAccumulateType(work.dtype(source), [&](auto zero) {
        using T = decltype(zero);
        if (name == "EmbeddingBackward") return embedding<T>(work);
        return along<T>(work, source, name == "Scatter" ? "out" : name == "ScatterInp" ? "input" : "grad_input");
    });
}

const Registration registration(
    "order of sums",
    {{"scattered-sums-reversed", "sums at indices are added up from the last term to the first",
      named("EmbeddingBackward IndexSelectBackward GatherBackward Scatter ScatterInp"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
