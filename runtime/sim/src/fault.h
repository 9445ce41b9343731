// Faults of a program that uses the device: a status, or a report and the end of the process.
#ifndef DIOPIGEN_SIM_SRC_FAULT_H_
#define DIOPIGEN_SIM_SRC_FAULT_H_

#include <diopigen_sim/status.h>

#include <string>

#include "allocation.h"
#include "settings.h"

namespace diopigen::sim {

/// A fault, in words: `title` is the kind ("double free"), `text` what happened, `fix` what to do. `about` may be null.
/// Where faults are fatal, a report with the origin of the allocation goes to standard error and the process aborts;
/// else it comes back as a status.
Status fault(const Settings& settings, Code code, const char* title, const std::string& text, const Allocation* about,
             const char* fix);

/// Writes the same report and goes on.
void write_report(const char* title, const std::string& text, const Allocation* about, const char* fix);

/// What the calling thread runs, for reports: a kernel or a copy on a stream; null names on threads of the host.
struct Running {
    const char* name = nullptr;
    int stream = 0;
};
void set_running(const Running& running);
/// The one of the calling thread, as long as that lives.
const Running* running();

/// Handles SIGSEGV from now on: an access to device memory by the host, or by a kernel where it must not, is
/// explained on standard error before the signal ends the process. Everything else goes to the handler that was there
/// before. Does nothing the second time.
void install_fault_handler();

/// Gives the calling thread a stack for signals where it has none. The thread frees it with drop_signal_stack().
void use_signal_stack();
void drop_signal_stack();

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_FAULT_H_
