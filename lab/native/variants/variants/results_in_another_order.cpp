// Results in the reverse of their order, where the interface leaves it open.
#include "../groups.h"

namespace diopigen::variants {

namespace {

// Reverses the elements at these indices; whether any has moved.
bool reversed(const View& view, const std::vector<int64_t>& line) {
    const std::vector<char> before = view.packed();
    std::vector<char> after = before;
    const auto bytes = static_cast<size_t>(view.itemsize());
    for (size_t i = 0; i < line.size(); ++i) {
        const size_t from = static_cast<size_t>(line[i]) * bytes,
                     to = static_cast<size_t>(line[line.size() - 1 - i]) * bytes;
        for (size_t byte = 0; byte < bytes; ++byte) after[to + byte] = before[from + byte];
    }
    view.unpack(after);
    return after != before;
}

bool isNull(Work& work, const char* name) {
    const void* pointer = work.call().argument(name);
    return pointer != nullptr && *static_cast<const void* const*>(pointer) == nullptr;
}

bool topk(Work& work) {
    const View values = work.call().tensor("values"), indices = work.call().tensor("indices");
    bool moved = false;
    for (const auto& line : linesOf(values.shape(), work.integer("dim", -1))) {
        moved = reversed(values, line) || moved;
        moved = reversed(indices, line) || moved;
    }
    return moved;
}

bool unique(Work& work) {
    const View out = work.call().allocated("out"), counts = work.call().allocated("counts"),
               indices = work.call().tensor("indices");
    const Groups lines = linesOf(out.shape(), 0);
    if (lines.size() != 1) return false;
    const bool moved = reversed(out, lines[0]);
    if (counts.valid() && counts.count() == out.count()) reversed(counts, lines[0]);
    for (int64_t i = 0; indices.valid() && i < indices.count(); ++i) {
        indices.setInteger(i, out.count() - 1 - indices.integerAt(i));
    }
    return moved;
}

bool compute(Work& work) {
    if (work.number("sorted", 1) != 0) return false;
    if (work.call().hasPrefix("Topk")) return topk(work);
    return isNull(work, "dim") && unique(work);
}

const Registration registration("order of results",
                                {{"results-in-another-order", "results without an order are reversed",
                                  named("Topk Unique"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
