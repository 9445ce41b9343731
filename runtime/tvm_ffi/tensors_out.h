// Tensors that operators allocate, handed out as tensors of tvm-ffi.
#ifndef DIOPIGEN_TVM_FFI_TENSORS_OUT_H_
#define DIOPIGEN_TVM_FFI_TENSORS_OUT_H_

#include <diopi/diopirt.h>
#include <tvm/ffi/c_api.h>

#include <vector>

#include "session.h"

namespace diopigen::ffi {

/// A tensor over the memory of a tensor of the session, which stays alive with it; None for null.
TVMFFIAny exported(LibrarySession& session, diopiConstTensorHandle_t tensor);

/// A new tensor where the library's operators want theirs.
TVMFFIAny allocated(LibrarySession& session, const diopiSize_t& size, diopiDtype_t dtype);

/// An Array of values; they are taken over, and the vector is empty then.
TVMFFIAny listed(std::vector<TVMFFIAny>& values);

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_TENSORS_OUT_H_
