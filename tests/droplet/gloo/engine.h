// A communicator whose engine is gloo, as torch has it: what collectives mean is not decided by this repository.
#ifndef DIOPIGEN_TESTS_DROPLET_GLOO_ENGINE_H_
#define DIOPIGEN_TESTS_DROPLET_GLOO_ENGINE_H_

#include <diopi/functions_collective.h>
#include <diopigen_sim/status.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "fabric/communicator.h"

namespace gloo_reference {

using diopigen::sim::fabric::Line;

/// Bytes of an element; 0 for what is no dtype of elements.
int64_t bytesOf(diopiDtype_t dtype);
/// Whether torch computes the reduction as the interface defines it.
bool canReduce(diopiDtype_t dtype, diopiReduceOp_t op);

class Engine {
  public:
    /// Connects the ranks of `path`, a file that they share. Throws.
    Engine(const std::string& path, int nranks, int rank);

    const std::string& name() const { return name_; }
    int rank() const { return rank_; }
    int nranks() const { return nranks_; }
    Line& collectives() { return collectives_; }
    Line& sends(int peer) { return lineOf(&sends_, peer); }
    Line& receives(int peer) { return lineOf(&receives_, peer); }

    /// Runs a call in its turn; where it fails, all ranks learn of it.
    void run(Line* line, uint64_t number, const std::function<void()>& body);
    /// The text of the first failure on any rank, or "".
    std::string error();
    void close() { isClosed_ = true; }

    // ---- within run; `count` elements of what one rank contributes or receives ----

    void allReduce(const char* from, char* to, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op);
    void reduce(const char* from, char* to, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op, int root);
    void reduceScatter(const char* from, char* to, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op);
    void broadcast(char* buffer, int64_t bytes, int root);
    void allGather(const char* from, char* to, int64_t bytes);
    void allToAll(const char* from, char* to, int64_t bytes);
    /// Lists of bytes by rank.
    struct Places {
        std::vector<int64_t> counts, offsets;
    };
    void allToAll(const char* from, const Places& sent, char* to, const Places& received);
    void send(const char* buffer, int64_t bytes, int peer);
    void receive(char* buffer, int64_t bytes, int peer);

  private:
    Line& lineOf(std::map<int, Line>* lines, int peer);
    void stop();
    at::Tensor reduced(const char* from, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op);

    const std::string name_;
    const int nranks_;
    const int rank_;
    c10::intrusive_ptr<c10d::Store> store_;
    c10::intrusive_ptr<c10d::Backend> gloo_;
    Line collectives_;
    std::mutex mutex_;
    std::map<int, Line> sends_, receives_;
    std::string error_;
    std::deque<std::string> own_;  ///< messages of this rank to itself, which gloo does not connect
    std::condition_variable arrived_;
    std::atomic<bool> isClosed_{false};
};

}  // namespace gloo_reference

#endif  // DIOPIGEN_TESTS_DROPLET_GLOO_ENGINE_H_
