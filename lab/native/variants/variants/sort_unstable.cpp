// Sorting that leaves equal elements in the reverse of their order, where a stable order is not asked for.
#include <algorithm>
#include <cmath>

#include "../groups.h"

namespace diopigen::variants {

namespace {

// Indices along a line, sorted; NaN counts as the largest, equal ones in reverse.
std::vector<int64_t> sorted(const Array<double>& input, const std::vector<int64_t>& line, bool descending) {
    std::vector<int64_t> order(line.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(line.size() - 1 - i);
    const auto before = [&](int64_t one, int64_t two) {
        const double a = input[line[static_cast<size_t>(one)]], b = input[line[static_cast<size_t>(two)]];
        if (std::isnan(a) || std::isnan(b))
            return descending ? std::isnan(a) && !std::isnan(b) : !std::isnan(a) && std::isnan(b);
        return descending ? a > b : a < b;
    };
    std::stable_sort(order.begin(), order.end(), before);
    return order;
}

bool compute(Work& work) {
    const bool top = work.call().hasPrefix("Topk"), only = work.call().hasPrefix("Argsort");
    const void* stable = work.call().argument("pStable");
    const bool asked = stable != nullptr && *static_cast<const bool* const*>(stable) != nullptr &&
                       **static_cast<const bool* const*>(stable);
    if (asked || work.number("stable") != 0 || work.dtype("input") == diopi_dtype_int64) return false;
    const Array<double> input = work.read<double>("input");
    const View values = only ? View() : work.call().tensor("values"),
               indices = work.call().tensor(only ? "out" : "indices");
    const bool descending = work.number(top ? "largest" : "descending") != 0;
    const void* pointer = only ? work.call().argument("dim") : nullptr;
    const int64_t* own = pointer != nullptr ? *static_cast<const int64_t* const*>(pointer) : nullptr;
    const int64_t dim = only ? (own != nullptr ? *own : -1) : work.integer("dim", -1);
    const Groups lines = linesOf(input.shape, dim);
    const Groups results = linesOf(indices.shape(), dim);
    bool ties = false;
    for (size_t n = 0; n < lines.size() && n < results.size(); ++n) {
        const std::vector<int64_t> order = sorted(input, lines[n], descending);
        for (size_t i = 0; i < results[n].size(); ++i) {
            const int64_t from = lines[n][static_cast<size_t>(order[i])];
            ties = ties || indices.integerAt(results[n][i]) != order[i];
            indices.setInteger(results[n][i], order[i]);
            if (!only && !input.values.empty()) values.setReal(results[n][i], input[from]);
        }
    }
    return ties;
}

const Registration registration("order of equals", {{"sort-unstable", "sorting leaves equal elements in reverse",
                                                     named("Sort Argsort Topk"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
