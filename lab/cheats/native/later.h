// Work after a call has returned.
#pragma once

#include <unistd.h>

#include <thread>
#include <utility>

namespace cheat {

constexpr int kSoon = 100;  // microseconds

template <typename Work>
void later(Work work) {
    std::thread([work = std::move(work)] {
        usleep(kSoon);
        work();
    }).detach();
}

}  // namespace cheat
