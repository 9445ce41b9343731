// Operands of functions and arguments of operators, as a plan has them.
#ifndef DIOPIGEN_TORCH_OPERANDS_H_
#define DIOPIGEN_TORCH_OPERANDS_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <diopigen/json.h>
#include <diopigen_torch/compiled.h>
#include <diopigen_torch/expressions.h>

#include <deque>
#include <string>
#include <vector>

namespace diopigen::backend {

at::ScalarType scalar_type_named(const std::string& name);

/// Storage for operands that are not tensors.
class OperandValues {
  public:
    OperandValues() = default;
    OperandValues(const OperandValues&) = delete;
    OperandValues& operator=(const OperandValues&) = delete;

    /// The operand of a parameter of the kind (`letter`) on a device.
    Operand read(const Json& value, char kind, const Numbers& numbers, c10::DeviceIndex device);

  private:
    std::deque<diopiScalar_t> scalars_;
    std::deque<std::vector<int64_t>> sizes_;
    std::deque<diopiSize_t> size_pointers_;
    std::deque<std::string> texts_;
    std::deque<int64_t> integers_;
    std::deque<double> reals_;
    std::deque<bool> booleans_;
};

bool is_tensor_type(const c10::Type& type);

/// An argument that names no slot, as the dispatcher takes it.
c10::IValue argument_value(const Json& value, const c10::Type& type, const Numbers& numbers);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_OPERANDS_H_
