// A test program in one header: TEST defines a test, CHECK... count and print, main() is in main.cpp.
#ifndef DIOPIGEN_TESTS_RUNTIME_CHECK_H_
#define DIOPIGEN_TESTS_RUNTIME_CHECK_H_

#include <diopi/diopirt.h>
#include <diopigen/host.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace check {

struct Test {
    const char* group;
    const char* name;
    void (*body)();
};

/// All tests, in the order in which they were defined within their file.
std::vector<Test>& tests();

struct Registration {
    Registration(const char* group, const char* name, void (*body)()) { tests().push_back({group, name, body}); }
};

/// Counts one check; prints it when it failed. Safe from several threads.
void report(bool passed, const char* file, int line, const std::string& what);

template <class Actual, class Expected>
void equal(const Actual& actual, const Expected& expected, const char* file, int line, const char* expression) {
    std::ostringstream text;
    const bool passed = actual == static_cast<Actual>(expected);
    if (!passed) {
        text << expression << " is " << actual << ", expected " << expected;
    }
    report(passed, file, line, text.str());
}

/// Text of the last error of this thread.
inline std::string lastError() {
    const char* text = nullptr;
    return diopiHostGetLastErrorText(&text) == diopiSuccess && text != nullptr ? text : "<no text>";
}

/// The values as the interface wants them; they must outlive the result.
inline diopiSize_t sizeOf(const std::vector<int64_t>& values) {
    return diopiSize_t{values.empty() ? nullptr : values.data(), static_cast<int64_t>(values.size())};
}

inline std::vector<int64_t> valuesOf(const diopiSize_t& size) {
    return std::vector<int64_t>(size.data, size.data + size.len);
}

}  // namespace check

#define TEST(group, name)                                                                                 \
    static void test_##group##_##name();                                                                  \
    static const check::Registration registration_##group##_##name(#group, #name, test_##group##_##name); \
    static void test_##group##_##name()

#define CHECK(condition) check::report((condition), __FILE__, __LINE__, #condition " is false")
#define CHECK_EQUAL(actual, expected) check::equal((actual), (expected), __FILE__, __LINE__, #actual)

// The call returns success; otherwise its error text is printed.
#define CHECK_OK(call)                                                                                             \
    do {                                                                                                           \
        const diopiError_t status_ = (call);                                                                       \
        check::report(status_ == diopiSuccess, __FILE__, __LINE__,                                                 \
                      #call " returned " + std::to_string(static_cast<int>(status_)) + ": " + check::lastError()); \
    } while (false)

// The call returns this status and leaves exactly this text.
#define CHECK_FAILS(call, status, text)                                                                  \
    do {                                                                                                 \
        check::equal(static_cast<int>(call), static_cast<int>(status), __FILE__, __LINE__, #call);       \
        check::equal(check::lastError(), std::string(text), __FILE__, __LINE__, "error text of " #call); \
    } while (false)

#endif  // DIOPIGEN_TESTS_RUNTIME_CHECK_H_
