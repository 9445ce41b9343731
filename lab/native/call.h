// One call on its way to the real library: a fault reads and replaces its arguments, forwards it, corrupts its results.
#pragma once

#include <diopi/diopirt.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "signature.h"
#include "view.h"

namespace diopigen::mutant {

class Call {
  public:
    using Forward = std::function<diopiError_t()>;

    // `arguments` holds the address of each argument of the wrapper, which `forward` hands on as they are then.
    Call(const Signature& signature, diopiContextHandle_t context, void* const* arguments, const Forward& forward)
        : signature_(signature), context_(context), arguments_(arguments), forward_(forward) {}

    const Signature& signature() const { return signature_; }
    std::string function() const { return signature_.function; }
    bool hasPrefix(const char* prefix) const { return function().rfind(prefix, 0) == 0; }

    // Calls the true function with the arguments as they are now.
    diopiError_t forward() const { return forward_(); }
    // Says that the fault has changed something in this call, which ended with `status`. A change before a call that
    // is refused may be without consequence: a fault that acts in no other call is not reached by the suite.
    void acted(diopiError_t status = diopiSuccess);

    // Tensors. Absent parameters and null handles give views that are not valid.
    View tensor(const char* name) const;
    // A tensor that the operator has allocated: after the call.
    View allocated(const char* name) const;
    void setTensor(const char* name, diopiConstTensorHandle_t handle) const;
    // The addresses of the handles of all tensors that are inputs alone, that are written, or that are read and
    // written.
    std::vector<diopiTensorHandle_t*> inputHandles() const;
    std::vector<diopiTensorHandle_t*> outputHandles() const;
    std::vector<diopiTensorHandle_t*> inoutHandles() const;
    // Views of what is written, and of what is only read; allocated outputs are there after the call.
    std::vector<View> outputs() const;
    std::vector<View> inputs() const;
    // Exchanges handles of tensors that are read for copies, for this call alone: lists keep the caller's handles.
    void exchangeInputs(const std::function<diopiTensorHandle_t(const View&)>& exchanged);

    bool hasNullTensor() const;

    // A tensor of the context: contiguous, with the given shape. Null where the runtime has none.
    diopiTensorHandle_t temporary(const std::vector<int64_t>& shape, diopiDtype_t dtype, const View& like) const;
    // A contiguous copy of a tensor in a dtype, converted element by element.
    diopiTensorHandle_t copyOf(const View& source, diopiDtype_t dtype) const;
    diopiTensorHandle_t copyOf(const View& source) const { return copyOf(source, source.dtype()); }

    // Numbers: scalars, integers, floats, bools and the values of enums. Null pointers have no number.
    std::optional<double> number(const char* name) const;
    bool setNumber(const char* name, double value);
    std::optional<std::string> text(const char* name) const;
    void setText(const char* name, const char* value) const;
    std::vector<int64_t> sizes(const char* name) const;
    void setSizes(const char* name, const std::vector<int64_t>& values);
    // Makes a nullable argument null. False where it was null already or cannot be.
    bool setNull(const char* name) const;

    diopiGeneratorHandle_t generator() const;

    // The argument itself; null where the function has no such parameter.
    void* argument(const char* name) const;
    const Parameter* parameter(const char* name) const;

  private:
    int find(const char* name) const;
    int64_t lengthOf(const Parameter& parameter) const;
    template <typename Keep>
    std::vector<diopiTensorHandle_t*> tensorHandles(const Keep& keep) const;

    const Signature& signature_;
    diopiContextHandle_t context_;
    void* const* arguments_;
    const Forward& forward_;
    std::vector<std::vector<int64_t>> savedSizes_;
    std::vector<diopiSize_t> savedStructs_;
    std::vector<diopiScalar_t> savedScalars_;
    std::vector<std::vector<diopiTensorHandle_t>> savedLists_;
};

}  // namespace diopigen::mutant
