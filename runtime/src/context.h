// The runtime's context: one stream, and the temporaries that operators asked for.
#ifndef DIOPIGEN_RUNTIME_CONTEXT_H_
#define DIOPIGEN_RUNTIME_CONTEXT_H_

#include <diopi/diopirt.h>

#include <memory>
#include <unordered_map>

#include "stream.h"
#include "tensor.h"

struct diopiContext {
    std::shared_ptr<diopigen::Stream> stream = std::make_shared<diopigen::Stream>();
    std::unordered_map<const diopiTensor*, std::unique_ptr<diopiTensor>> temporaries;
};

namespace diopigen {

/// A temporary of the context: a dense tensor over a storage of its own.
diopiTensorHandle_t require_tensor(diopiContext& context, const diopiSize_t* size, const diopiSize_t* stride,
                                   diopiDtype_t dtype, diopiDevice_t device);

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_CONTEXT_H_
