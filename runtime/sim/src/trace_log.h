// Where the records of finished work go.
#ifndef DIOPIGEN_SIM_SRC_TRACE_LOG_H_
#define DIOPIGEN_SIM_SRC_TRACE_LOG_H_

#include <diopigen_sim/status.h>
#include <diopigen_sim/trace.h>

#include <string>

namespace diopigen::sim {

/// Seconds of the steady clock since the first call.
double seconds_now();

/// Whether a trace or records are enabled.
bool keeps_log();
/// Keeps a record where they are.
void log_work(TraceRecord record);

/// From now on records go to a file as well. Once, before any work.
void open_trace_file(const std::string& path);
/// Writes the records so far to the file, where there is one.
Status write_trace_file();

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_TRACE_LOG_H_
