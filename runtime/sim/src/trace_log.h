// Where the records of finished work go.
#ifndef DIOPIGEN_SIM_SRC_TRACE_LOG_H_
#define DIOPIGEN_SIM_SRC_TRACE_LOG_H_

#include <diopigen_sim/status.h>
#include <diopigen_sim/trace.h>

#include <string>

namespace diopigen::sim {

/// Seconds of the steady clock since the first call.
double secondsNow();

/// Whether a trace or records are enabled.
bool keepsLog();
/// Keeps a record where they are.
void logWork(TraceRecord record);

/// From now on records go to a file as well. Once, before any work.
void openTraceFile(const std::string& path);
/// Writes the records so far to the file, where there is one.
Status writeTraceFile();

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_TRACE_LOG_H_
