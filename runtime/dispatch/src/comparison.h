// One call run on the vendor's library and on the reference.
#ifndef DIOPIGEN_DISPATCH_COMPARISON_H_
#define DIOPIGEN_DISPATCH_COMPARISON_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "compare.h"
#include "dump.h"
#include "host_copy.h"
#include "run.h"

namespace diopigen::dispatch {

// Made before the vendor's function is called: the reference starts from the same operands.
class Comparison {
  public:
    Comparison(diopiContextHandle_t ctx, Operands operands, Tolerance tolerance);

    // After the vendor's function, which answered `status`. The first difference; nothing where all is equal. The
    // caller's results stay those of the vendor.
    std::optional<std::string> compare(Function reference, Caller call, diopiError_t status);

    // The operands before the call, the vendor's results, and those of the reference.
    void keep(Dump& dump) const;

  private:
    // A number that the operator writes through a pointer.
    struct Number {
        void* address;
        uint8_t width;
        const char* name;
        std::array<char, 16> before;
        std::array<char, 16> after;
    };
    // Tensors that the operator makes.
    struct AllocatedList {
        const Operand* operand;
        diopiTensorHandle_t* original;
        std::vector<diopiTensorHandle_t> reference;
    };

    diopiError_t call_reference(Function reference, Caller call);
    std::optional<std::string> compare_tensors();
    std::optional<std::string> compare_numbers() const;
    std::optional<std::string> compare_allocated();
    void release_allocated();

    diopiContextHandle_t ctx_;
    Operands operands_;
    Tolerance tolerance_;
    Terms terms_;
    HostCopy before_;
    HostCopy copy_;
    std::optional<HostCopy> after_;
    std::vector<Number> numbers_;
    std::vector<AllocatedList> allocated_;
    std::optional<std::string> number_difference_;
};

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_COMPARISON_H_
