// For the kernels behind shims, which are functions of the vendor's own namespace with the names of the interface.
#ifndef DIOPIGEN_ADAPTOR_KERNEL_H_
#define DIOPIGEN_ADAPTOR_KERNEL_H_

#include <type_traits>

// After the definition of a kernel: a signature that differs does not compile. Without it such a kernel would be a
// function that no shim calls, since C++ takes it as an overload of the declared one.
// Naming a deprecated function is no use of it. The last assertion takes the semicolon behind the word.
#define DIOPIGEN_KERNEL(name)                                                                                     \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"") static_assert( \
        std::is_same<decltype(&name), decltype(&::name)>::value,                                                  \
        "the parameters of " #name " are not those of the interface");                                            \
    _Pragma("GCC diagnostic pop") static_assert(true, "")

#endif  // DIOPIGEN_ADAPTOR_KERNEL_H_
