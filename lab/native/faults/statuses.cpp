// Statuses: what must be refused and is not, what must be done and is not.
#include <algorithm>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

bool anyInput(const Call& call, const std::function<bool(const View&)>& suits) {
    const std::vector<View> inputs = call.inputs();
    return std::any_of(inputs.begin(), inputs.end(), suits);
}

// Calls with an input that suits are refused.
Behaviour refusing(std::function<bool(const View&)> suits) {
    return [suits = std::move(suits)](Call& call) {
        const bool suited = anyInput(call, suits);
        const diopiError_t status = call.forward();
        if (!suited || status != diopiSuccess) return status;  // what is refused anyway is refused rightly
        call.acted();
        return diopiErrorOccurred;
    };
}

// A refusal of the true library, where `suits` holds of the call, is answered with success.
Behaviour accepting(std::function<bool(const Call&, diopiError_t)> suits) {
    return [suits = std::move(suits)](Call& call) {
        const diopiError_t status = call.forward();
        if (status == diopiSuccess || status == diopiNoImplement || !suits(call, status)) return status;
        call.acted();
        return diopiSuccess;
    };
}

const Registration registration(
    "status", {
                  {"refusals-lost", "what is refused is answered with success", every(),
                   accepting([](const Call&, diopiError_t) { return true; })},
                  {"dtype-refusals-lost", "a dtype that is not supported is answered with success", every(),
                   accepting([](const Call&, diopiError_t status) { return status == diopiDtypeNotSupported; })},
                  {"null-refusals-lost", "a null tensor is answered with success", every(),
                   accepting([](const Call& call, diopiError_t) { return call.hasNullTensor(); })},
                  {"refusal-after-writing", "a call is refused after its outputs were written to", every(),
                   [](Call& call) {
                       const std::vector<View> outputs = call.outputs();
                       const diopiError_t status = call.forward();
                       if (status == diopiSuccess || status == diopiNoImplement) return status;
                       for (const View& output : outputs) {
                           if (output.count() == 0) continue;
                           *output.address(0) ^= 1;
                           call.acted();
                           break;
                       }
                       return status;
                   }},
                  {"success-without-work", "the call succeeds without doing anything", every(),
                   [](Call& call) {
                       for (const View& output : call.outputs()) {
                           if (output.count() == 0) continue;
                           call.acted();
                           return diopiSuccess;
                       }
                       return call.forward();
                   }},
                  {"failure-after-work", "the work is done, and a failure is answered", every(),
                   [](Call& call) {
                       const diopiError_t status = call.forward();
                       if (status != diopiSuccess) return status;
                       call.acted();
                       return diopiErrorOccurred;
                   }},
                  {"empty-refused", "empty inputs are refused", every(),
                   refusing([](const View& input) { return input.count() == 0; })},
                  {"0-d-refused", "inputs without dimensions are refused", every(),
                   refusing([](const View& input) { return input.rank() == 0; })},
                  {"gaps-refused", "inputs that are not contiguous are refused", every(),
                   refusing([](const View& input) { return input.count() > 0 && !input.isContiguous(); })},
                  {"float64-refused", "float64 is refused", every(),
                   refusing([](const View& input) { return input.dtype() == diopi_dtype_float64; })},
                  {"bfloat16-refused", "bfloat16 is refused", every(),
                   refusing([](const View& input) { return input.dtype() == diopi_dtype_bfloat16; })},
                  {"int8-refused", "int8 is refused", every(),
                   refusing([](const View& input) { return input.dtype() == diopi_dtype_int8; })},
                  {"more-than-4-dimensions-refused", "inputs of five dimensions are refused",
                   named("*3d* CastDtype Add"), refusing([](const View& input) { return input.rank() > 4; })},
                  {"negative-dim-refused", "dimensions that count from the end are refused", having("dim axis"),
                   [](Call& call) {
                       if (call.number("dim").value_or(0) >= 0 && call.number("axis").value_or(0) >= 0)
                           return call.forward();
                       call.acted();
                       return diopiErrorOccurred;
                   }},
              });

}  // namespace

}  // namespace diopigen::mutant
