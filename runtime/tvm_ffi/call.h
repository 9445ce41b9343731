// A packed function on its way to an operator: arguments of tvm-ffi in, a status as an error out.
#ifndef DIOPIGEN_TVM_FFI_CALL_H_
#define DIOPIGEN_TVM_FFI_CALL_H_

#include <diopi/diopirt.h>
#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "library.h"
#include "packed_functions.h"
#include "session.h"
#include "values.h"

namespace diopigen::ffi {

class Call {
  public:
    /// `self` is the library, null for the first that was opened. Raises where the number of arguments is another than
    /// `expected`, or the library does not have the function.
    Call(Function function, void* self, const TVMFFIAny* values, int32_t given, int32_t expected, TVMFFIAny* result);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    Argument argument(int32_t index, const char* name) const { return {values_ + index, name}; }

    template <class Value>
    Value number(int32_t index, const char* name) const {
        if constexpr (std::is_enum_v<Value>) {
            return static_cast<Value>(number_of<int32_t>(argument(index, name)));
        } else {
            return number_of<Value>(argument(index, name));
        }
    }

    /// A tensor of DLPack or of tvm-ffi; an opaque pointer is a handle, None is null.
    diopiTensorHandle_t tensor(int32_t index, const char* name) { return tensor(argument(index, name)); }
    /// A list of tensors; None is a null pointer.
    Tensors tensors(int32_t index, const char* name);
    /// An opaque pointer or None.
    void* opaque(int32_t index, const char* name) const;
    diopiGeneratorHandle_t generator(int32_t index, const char* name) const {
        return static_cast<diopiGeneratorHandle_t>(opaque(index, name));
    }
    Generators generators(int32_t index, const char* name) const;
    /// Whether an output that may be left out is asked for: any value but None and false.
    bool is_wanted(int32_t index, const char* name) const;

    /// Raises where an operator would read more entries of a list than there are.
    template <class List>
    void require_entries(const List& list, int64_t count, const char* name) const {
        if (list.is_given() && count > list.size()) {
            fail_entries(list.size(), count, name);
        }
    }

    /// Calls the operator. Raises the status that it returns.
    template <class Pointer, class... Values>
    void run(Values&&... values) {
        check(reinterpret_cast<Pointer>(pointer_)(session_.context(), values...));
    }

    /// Results in the order of the parameters: one is returned as it is, several as a list.
    void returns(diopiTensorHandle_t tensor);
    void returns(const Tensors& tensors);
    void returns(int64_t value);
    void returns(double value);
    void returns(bool value);
    void finish();

  private:
    diopiTensorHandle_t tensor(const Argument& argument);
    void check(diopiError_t status) const;
    [[noreturn]] void fail_entries(int64_t given, int64_t count, const char* name) const;

    const TVMFFIAny* values_;
    TVMFFIAny* result_;
    LibrarySession& session_;
    void* pointer_;
    std::vector<TVMFFIAny> results_;
    // Most operators have few tensors.
    static constexpr size_t kFew = 12;
    std::array<Wrapped*, kFew> used_;
    size_t used_count_ = 0;
    std::vector<Wrapped*> more_used_;
    std::vector<diopiTensorHandle_t> own_;
};

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_CALL_H_
