// Results in an order that is open, of which one is lost: a comparison that ignores the order must still see it.
#include "../fault.h"

namespace diopigen::mutant {

namespace {

bool isOpen(const Call& call) { return call.number("sorted").value_or(1) == 0; }

// The last element of each line is the one before, and so is what belongs to it in the other outputs.
bool lastLost(const View& view, int64_t dim) {
    if (!view.valid() || view.size(dim) < 2) return false;
    const int64_t own = dim < 0 ? dim + view.rank() : dim;
    int64_t inner = 1;
    for (int64_t k = own + 1; k < view.rank(); ++k) inner *= view.size(k);
    const int64_t length = view.size(own);
    for (int64_t start = 0; start < view.count(); start += length * inner) {
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t last = start + (length - 1) * inner + i;
            view.copyElement(last, view, last - inner);
        }
    }
    return true;
}

const Registration registration(
    "order of results",
    {{"unordered-element-lost", "one of the elements without an order is lost, another is there twice", named("Topk"),
      afterCall([](Call& call) {
          if (!isOpen(call)) return false;
          const auto dim = static_cast<int64_t>(call.number("dim").value_or(-1));
          const bool acts = lastLost(call.tensor("values"), dim);
          return lastLost(call.tensor("indices"), dim) && acts;
      })},
     {"distinct-element-lost", "one of the distinct elements is lost, another is there twice", named("Unique"),
      afterCall([](Call& call) { return isOpen(call) && lastLost(call.allocated("out"), 0); })},
     {"records-torn-apart", "indices without an order are not those of the values", named("Topk"),
      afterCall([](Call& call) {
          const View indices = call.tensor("indices");
          if (!isOpen(call) || indices.count() < 2) return false;
          const std::vector<char> before = indices.packed();
          const auto dim = static_cast<int64_t>(call.number("dim").value_or(-1));
          const int64_t length = indices.size(dim), first = indices.integerAt(0);
          int64_t inner = 1;
          for (int64_t k = (dim < 0 ? dim + indices.rank() : dim) + 1; k < indices.rank(); ++k)
              inner *= indices.size(k);
          for (int64_t i = 0; i + 1 < length; ++i) indices.setInteger(i * inner, indices.integerAt((i + 1) * inner));
          if (length > 0) indices.setInteger((length - 1) * inner, first);
          return indices.packed() != before;
      })}});

}  // namespace

}  // namespace diopigen::mutant
