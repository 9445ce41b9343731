// The operands of a call as they were before it, and its results as a variant writes them after it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fault.h"

namespace diopigen::variants {

using mutant::afterCall;
using mutant::Call;
using mutant::named;
using mutant::View;

using Dims = std::vector<int64_t>;

int64_t countOf(const Dims& shape);

// The numbers of a tensor in row-major order, in the accumulate type of its dtype.
template <typename T>
struct Array {
    Dims shape;
    std::vector<T> values;

    int64_t count() const { return static_cast<int64_t>(values.size()); }
    int64_t rank() const { return static_cast<int64_t>(shape.size()); }
    // Size of a dimension, negative ones from the end; 1 where there is none.
    int64_t size(int64_t dim) const {
        const int64_t own = dim < 0 ? dim + rank() : dim;
        return own >= 0 && own < rank() ? shape[static_cast<size_t>(own)] : 1;
    }
    T& operator[](int64_t index) { return values[static_cast<size_t>(index)]; }
    T operator[](int64_t index) const { return values[static_cast<size_t>(index)]; }
};

class Work {
  public:
    // Copies what the call reads: in-place forms overwrite it.
    explicit Work(Call& call);

    Call& call() const { return call_; }
    bool has(const char* name) const { return before_.count(name) != 0; }
    diopiDtype_t dtype(const char* name) const { return call_.tensor(name).dtype(); }
    double number(const char* name, double missing = 0) const { return call_.number(name).value_or(missing); }
    int64_t integer(const char* name, int64_t missing = 0) const {
        return static_cast<int64_t>(number(name, static_cast<double>(missing)));
    }

    // A tensor as it was before the call; empty where it is null or not read.
    template <typename T>
    Array<T> read(const char* name) const {
        const auto found = before_.find(name);
        return found == before_.end() ? Array<T>() : numbersOf<T>(found->second);
    }
    template <typename T>
    static Array<T> numbersOf(const View& view) {
        Array<T> array{view.shape(), std::vector<T>(static_cast<size_t>(view.count()))};
        for (int64_t i = 0; i < view.count(); ++i) array[i] = static_cast<T>(view.real(i));
        return array;
    }

    // Writes a result, rounded to the tensor's dtype to nearest and to even. False where the tensor is null, has
    // another number of elements, or no floating dtype.
    template <typename T>
    bool write(const char* name, const std::vector<T>& values) const {
        return store(call_.tensor(name), values);
    }
    template <typename T>
    static bool store(const View& out, const std::vector<T>& values) {
        if (!out.valid() || !out.isFloating() || out.count() != static_cast<int64_t>(values.size())) return false;
        for (int64_t i = 0; i < out.count(); ++i) out.setReal(i, static_cast<double>(values[static_cast<size_t>(i)]));
        return true;
    }

  private:
    Call& call_;
    std::map<std::string, View> before_;
};

// Calls `body` with a number of the accumulate type of a dtype: float for halves and float32, double for float64.
// False for all other dtypes.
template <typename Body>
bool inAccumulateType(diopiDtype_t dtype, const Body& body) {
    switch (dtype) {
        case diopi_dtype_float16:
        case diopi_dtype_bfloat16:
        case diopi_dtype_float32:
            return body(float());
        case diopi_dtype_float64:
            return body(double());
        default:
            return false;
    }
}

// After a call that succeeds, `compute` writes the results again in its own way and says whether it has written any.
mutant::Behaviour replaced(std::function<bool(Work&)> compute);

using Variant = mutant::Fault;

// Adds the variants of one kind when the library is loaded.
using Registration = mutant::Registration;

}  // namespace diopigen::variants
