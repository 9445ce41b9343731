// What a host can offer beyond diopirt.h. All of it is optional: a host that lacks a function leaves it undefined.
//
//   diopiHostDescribeTensor    says in one word and one call what a shim asks of every tensor: bits 0 to 7 the dtype,
//                              bits 8 to 14 the rank, bit 16 that it is row-major, bit 17 that it is channels-last
//                              (rank 3 and more; both for an empty tensor), bit 31 that nothing of this can be said.
//                              Without it a shim asks for dtype, shape and stride.
//   diopiHostInspectTensor     says all that a kernel asks about a tensor in one call. Without it a kernel asks seven
//                              times (runtime/kernels).
//   diopiHostReleaseTemporary  frees one temporary of a context. Without it temporaries live as long as the context.
//   diopiHostCreateView and    let a repeated (stride 0) or overlapping tensor be copied element by element of its
//   diopiHostDestroyTensor     storage. Without them the vendor's cast gets such a tensor as it is.
//   diopiHostCopyFromStorage   lets DIOPI_CHECK_OVERFLOW read values on the CPU. Without it the vendor's diopiEqual
//                              compares what comes back from the narrower dtype.
//
// The host runtime of diopigen has all of them. A framework's own runtime may export any.
#ifndef DIOPIGEN_ADAPTOR_HOST_SERVICES_H_
#define DIOPIGEN_ADAPTOR_HOST_SERVICES_H_

#include <diopi/diopirt.h>

#include <cstdint>

extern "C" {
DIOPI_ATTR_WEAK std::uint32_t diopiHostDescribeTensor(diopiConstTensorHandle_t tensor);
DIOPI_ATTR_WEAK diopiError_t diopiHostInspectTensor(diopiConstTensorHandle_t tensor, const void** data,
                                                    diopiSize_t* size, diopiSize_t* stride, std::int64_t* element_size,
                                                    diopiDtype_t* dtype, diopiDevice_t* device, bool* is_sparse);
DIOPI_ATTR_WEAK diopiError_t diopiHostReleaseTemporary(diopiContextHandle_t ctx, diopiTensorHandle_t tensor);
DIOPI_ATTR_WEAK diopiError_t diopiHostCreateView(diopiTensorHandle_t* tensor, diopiConstTensorHandle_t base,
                                                 const diopiSize_t* size, const diopiSize_t* stride,
                                                 std::int64_t storage_offset, diopiDtype_t dtype);
DIOPI_ATTR_WEAK diopiError_t diopiHostDestroyTensor(diopiTensorHandle_t tensor);
DIOPI_ATTR_WEAK diopiError_t diopiHostCopyFromStorage(diopiContextHandle_t ctx, diopiConstTensorHandle_t tensor,
                                                      void* destination, std::uint64_t bytes);
}

#endif  // DIOPIGEN_ADAPTOR_HOST_SERVICES_H_
