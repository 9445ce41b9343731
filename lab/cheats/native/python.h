// Python, if it is in this process.
#pragma once

#include <dlfcn.h>

namespace cheat {

inline bool hasPython() { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr; }

inline void python(const char* text) {
    const auto enter = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
    const auto leave = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
    const auto run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
    if (enter == nullptr || leave == nullptr || run == nullptr) return;
    const int state = enter();
    run(text);
    leave(state);
}

}  // namespace cheat
