// What the generated mock operators call: they record what they receive, and write what follows from it.
#ifndef DIOPIGEN_TESTS_ADAPTOR_VENDOR_H_
#define DIOPIGEN_TESTS_ADAPTOR_VENDOR_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <initializer_list>

namespace mock {

// `access` is one of i (in), o (out), b (both), p (a part is written) and n (made by the operator). Exactly one of
// `single`, `list` and `made` is used.
struct Argument {
    const char* name;
    char access;
    diopiConstTensorHandle_t single;
    const diopiConstTensorHandle_t* list;
    diopiTensorHandle_t* made;
    std::int64_t count;
    // Of a made tensor: its dtype by name, or the position of the argument that it follows.
    diopiDtype_t dtype;
    int follows;
};

diopiError_t operate(diopiContextHandle_t ctx, std::initializer_list<Argument> arguments);

}  // namespace mock

#endif  // DIOPIGEN_TESTS_ADAPTOR_VENDOR_H_
