// Calls kept on disk: a folder for each, with call.json and one .npy file per tensor.
#ifndef DIOPIGEN_DISPATCH_DUMP_H_
#define DIOPIGEN_DISPATCH_DUMP_H_

#include <string>
#include <vector>

#include "host_copy.h"

namespace diopigen::dispatch {

class Dump {
  public:
    // Makes the folder, numbered in the order of calls of this process, below `parent`. Throws a Failure.
    Dump(const std::string& parent, const char* function, Operands operands);

    // Keeps tensors; `when` is "before", "after" or "reference".
    void keep(const char* when, const std::vector<HostTensor>& tensors);
    // Writes call.json.
    void finish(diopiError_t status);
    const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
    std::string function_;
    std::string values_;
    std::string tensors_;
};

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_DUMP_H_
