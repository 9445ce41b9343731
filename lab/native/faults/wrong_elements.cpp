// Single elements that are wrong or never written: what tiling, vector tails and grids get wrong.
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

bool corrupt(const View& view, int64_t index) {
    if (view.isFloating() || view.isComplex()) {
        const double number = view.real(index);
        view.setReal(index, std::isfinite(number) ? number + 1 + std::fabs(number) / 2 : 0);
    } else if (view.isBool()) {
        view.setInteger(index, view.integerAt(index) == 0 ? 1 : 0);
    } else {
        view.setInteger(index, view.integerAt(index) + 1);
    }
    return true;
}

// Keeps what stood in the outputs at the places that `skipped` tells, as if they were never written.
Behaviour unwritten(std::function<bool(const View&, int64_t)> skipped) {
    return [skipped = std::move(skipped)](Call& call) {
        const auto handles = call.outputHandles();
        std::vector<View> views;
        std::vector<std::vector<char>> before;
        for (auto* handle : handles) {
            views.emplace_back(*handle);
            before.push_back(views.back().packed());
        }
        const diopiError_t status = call.forward();
        if (status != diopiSuccess) return status;
        for (size_t i = 0; i < views.size(); ++i) {
            const View& view = views[i];
            std::vector<char> now = view.packed();
            for (int64_t index = 0; index < view.count(); ++index) {
                if (!skipped(view, index)) continue;
                const auto first = index * view.itemsize();
                std::copy_n(before[i].begin() + first, view.itemsize(), now.begin() + first);
            }
            if (now == view.packed()) continue;
            view.unpack(now);
            call.acted();
        }
        return status;
    };
}

diopiError_t oneOutputUnwritten(Call& call, size_t skip) {
    const auto handles = call.outputHandles();
    if (handles.size() <= skip) return call.forward();
    const View view(*handles[skip]);
    const std::vector<char> before = view.packed();
    const diopiError_t status = call.forward();
    if (status == diopiSuccess && view.packed() != before) {
        view.unpack(before);
        call.acted();
    }
    return status;
}

const Registration registration(
    "wrong element",
    {
        {"one-element-in-a-thousand", "one element of each thousand, the last of a shorter output, is wrong",
         determined(), afterwards([](const View& view) {
             for (int64_t index = std::min<int64_t>(view.count() - 1, 499); index < view.count(); index += 1000) {
                 corrupt(view, index);
             }
             return true;
         })},
        {"first-element-wrong", "the first element of each output is wrong", determined(),
         afterwards([](const View& view) { return corrupt(view, 0); })},
        {"last-element-unwritten", "the last element of each output is never written", determined(),
         unwritten([](const View& view, int64_t index) { return index == view.count() - 1; })},
        {"vector-tail-unwritten", "the elements behind the last whole vector of four are never written", determined(),
         unwritten([](const View& view, int64_t index) { return view.count() > 4 && index >= view.count() / 4 * 4; })},
        {"tile-edge-unwritten", "the last row of outputs whose number of rows is odd is never written", determined(),
         unwritten([](const View& view, int64_t index) {
             const int64_t rows = view.rank() > 1 ? view.size(0) : 0;
             return rows > 1 && rows % 2 == 1 && index / (view.count() / rows) == rows - 1;
         })},
        {"second-block-unwritten", "only the first 32 elements are ever written", determined(),
         unwritten([](const View&, int64_t index) { return index >= 32; })},
        {"neighbours-exchanged", "the first two elements of each output have changed places", determined(),
         afterwards([](const View& view) {
             if (view.count() < 2) return false;
             const std::vector<char> before = view.packed();
             std::vector<char> after = before;
             std::swap_ranges(after.begin(), after.begin() + view.itemsize(), after.begin() + view.itemsize());
             view.unpack(after);
             return after != before;
         })},
        {"rows-and-columns-exchanged", "square outputs come out transposed", determined(),
         afterwards([](const View& view) {
             if (view.rank() < 2 || view.size(-1) != view.size(-2)) return false;
             const int64_t size = view.size(-1);
             const std::vector<char> before = view.packed();
             std::vector<char> after = before;
             for (int64_t index = 0; index < view.count(); ++index) {
                 const int64_t column = index % size, row = index / size % size;
                 const int64_t other = index + (column - row) * size + row - column;
                 std::copy_n(before.begin() + index * view.itemsize(), view.itemsize(),
                             after.begin() + other * view.itemsize());
             }
             view.unpack(after);
             return after != before;
         })},
        {"second-output-unwritten", "the second output is never written", determined() && writing(2),
         [](Call& call) { return oneOutputUnwritten(call, 1); }},
        {"third-output-unwritten", "the third output is never written", determined() && writing(3),
         [](Call& call) { return oneOutputUnwritten(call, 2); }},
        {"list-stops-early", "the last tensor of a list of outputs is never written", havingType(Type::tensors),
         [](Call& call) {
             const auto handles = call.outputHandles();
             return handles.size() < 2 ? call.forward() : oneOutputUnwritten(call, handles.size() - 1);
         }},
    });

}  // namespace

}  // namespace diopigen::mutant
