// Where the records of finished work are kept.
#ifndef DIOPIGEN_SIM_SRC_TRACE_LOG_H_
#define DIOPIGEN_SIM_SRC_TRACE_LOG_H_

#include <diopigen_sim/status.h>

#include <string>

#include "queue.h"

namespace diopigen::sim {

/// Seconds of the steady clock since the first call.
double secondsNow();

/// Keeps a record while records are enabled.
void logWork(const Task& task, double start, double end, int device, int stream);
void setLogEnabled(bool enabled);

/// Writes all records so far to a file, without forgetting them.
Status writeTrace(const std::string& path);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_TRACE_LOG_H_
