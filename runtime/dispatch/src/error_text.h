// What diopiGetLastErrorString says of calls through the dispatch library.
#ifndef DIOPIGEN_DISPATCH_ERROR_TEXT_H_
#define DIOPIGEN_DISPATCH_ERROR_TEXT_H_

#include <diopi/diopirt.h>

#include <string>

#include "failure.h"

namespace diopigen::dispatch {

using contract::Failure;
using contract::require;

// Whose text diopiGetLastErrorString gives: of the library that answered last on this thread, or our own.
using ErrorText = const char* (*)();
void set_error_source(ErrorText source);
// Keeps a text of our own. Never fails; long texts are cut.
void set_error_text(const char* function, const char* text) noexcept;
const char* error_text() noexcept;

const char* name_of(diopiError_t status);  // emitted in entries.cpp

// To be called in a catch block: the status that the exception stands for. No exception crosses the C boundary.
diopiError_t caught(const char* function) noexcept;

// One line to stderr, in one write: lines of several threads do not mix.
void say(const std::string& line);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_ERROR_TEXT_H_
