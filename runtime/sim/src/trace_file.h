// A file in the trace event format that chrome://tracing and Perfetto read; devices are processes, streams threads.
#ifndef DIOPIGEN_SIM_SRC_TRACE_FILE_H_
#define DIOPIGEN_SIM_SRC_TRACE_FILE_H_

#include <diopigen_sim/status.h>
#include <diopigen_sim/trace.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace diopigen::sim {

/// Safe from any thread. The file is whole after every write(), so that a process that crashes or is killed leaves a
/// trace up to there.
class TraceFile {
  public:
    /// Makes the file with its first record.
    explicit TraceFile(std::string path) : path_(std::move(path)) {}
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    void add(const TraceRecord& record);
    /// Writes what was added; a file that cannot be written is a status, this time and from then on.
    Status write();

  private:
    void event(const std::string& text);
    Status failed();

    const std::string path_;
    std::mutex mutex_;
    std::FILE* file_ = nullptr;
    long end_ = 0;  // behind the last event, where the end of the list is written over by the next ones
    bool empty_ = true;
    std::string pending_;
    std::set<std::pair<int, int>> named_;  // devices as {device, -1}, and streams
    Status failure_;
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_TRACE_FILE_H_
