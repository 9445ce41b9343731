// The time of a call, independent of the load of the machine.
#pragma once

#include <cstdint>

namespace diopigen::executor {

/// Seconds since it was made. Where the library computes on the host, those that the calling thread had a processor
/// for. A device computes while the host sleeps: there it is the time that passes, less that for which this thread
/// waited for a processor, as far as the system says.
class CallClock {
  public:
    explicit CallClock(bool is_on_host) : is_on_host_(is_on_host), start_(now()) {}
    double seconds() const { return now() - start_; }

  private:
    double now() const;

    bool is_on_host_;
    double start_;
};

}  // namespace diopigen::executor
