// What attention is asked about, in the memory of the device.
#ifndef DIOPI_CUDA_ATTENTION_PROBLEM_H_
#define DIOPI_CUDA_ATTENTION_PROBLEM_H_

#include <vector>

#include "attention/attention_problem.h"
#include "diopi_core/dense.h"
#include "diopi_cuda/group.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

namespace attention = core::attention;
using attention::Problem;
using attention::Sequence;

// A problem as kernels see it.
struct DeviceProblem {
    const Sequence* sequences;
    const int64_t* key_rows_before;  // keys of the sequences before each one
    int64_t count;
    int64_t heads;
    int64_t kv_heads;
    int64_t size;
    attention::RowStrides query_rows;
    attention::RowStrides key_rows;
    int64_t queries;  // of all sequences
    int64_t keys;
    const int64_t* rows = nullptr;  // of keys, where they do not lie one after another (KeysOfHead)

    DIOPI_DEVICE int64_t query_at(const Sequence& sequence, int64_t head, int64_t query) const {
        return sequence.query_start + head * query_rows.head + query * query_rows.row;
    }
    DIOPI_DEVICE int64_t key_at(const Sequence& sequence, int64_t kv_head, int64_t key) const {
        return sequence.key_start + kv_head * key_rows.head + key * key_rows.row;
    }
    // The sequence that a query or key belongs to, counted over all: the last one that does not begin behind it.
    DIOPI_DEVICE int64_t sequence_of_query(int64_t row) const {
        int64_t found = 0;
        int64_t end = count;
        while (found + 1 < end) {
            const int64_t middle = (found + end) / 2;
            (sequences[middle].query_row <= row ? found : end) = middle;
        }
        return found;
    }
    DIOPI_DEVICE int64_t sequence_of_key(int64_t row) const {
        int64_t found = 0;
        int64_t end = count;
        while (found + 1 < end) {
            const int64_t middle = (found + end) / 2;
            (key_rows_before[middle] <= row ? found : end) = middle;
        }
        return found;
    }
};

// The query of a row [queries of all sequences, heads].
struct QueryRow {
    int64_t sequence;
    int64_t head;
    int64_t query;

    DIOPI_DEVICE QueryRow(const DeviceProblem& problem, int64_t row)
        : sequence(problem.sequence_of_query(row / problem.heads)),
          head(row % problem.heads),
          query(row / problem.heads - problem.sequences[sequence].query_row) {}
};

// Where the keys of a head of a sequence lie.
struct KeysOfHead {
    const int64_t* rows;
    int64_t start;
    int64_t stride;

    DIOPI_DEVICE KeysOfHead(const DeviceProblem& problem, const Sequence& own, int64_t kv_head)
        : rows(problem.rows), stride(problem.key_rows.row) {
        const int64_t head = kv_head * problem.key_rows.head;
        if (rows != nullptr) {
            rows += own.key_start / stride;
            start = head;
        } else {
            start = own.key_start + head;
        }
    }
    DIOPI_DEVICE int64_t at(int64_t key) const { return start + (rows != nullptr ? rows[key] : key) * stride; }
};

// What kernels need of a problem when they know the sequence.
inline DeviceProblem without_sequences(const Problem& problem) {
    return {nullptr,          nullptr, 0, problem.heads, problem.kv_heads, problem.size, problem.query_rows,
            problem.key_rows, 0,       0};
}

class ProblemOnDevice {
  public:
    explicit ProblemOnDevice(const Problem& problem) {
        std::vector<int64_t> before;
        int64_t queries = 0;
        int64_t keys = 0;
        for (const Sequence& sequence : problem.sequences) {
            before.push_back(keys);
            keys += sequence.keys;
            queries += sequence.queries;
        }
        bring(sequences_, problem.sequences.data(), problem.sequences.size() * sizeof(Sequence));
        bring(before_, before.data(), before.size() * sizeof(int64_t));
        problem_ = {static_cast<const Sequence*>(sequences_.data()),
                    static_cast<const int64_t*>(before_.data()),
                    static_cast<int64_t>(problem.sequences.size()),
                    problem.heads,
                    problem.kv_heads,
                    problem.size,
                    problem.query_rows,
                    problem.key_rows,
                    queries,
                    keys};
    }
    const DeviceProblem& problem() const { return problem_; }

  private:
    static void bring(Buffer& buffer, const void* from, size_t bytes) {
        buffer.allocate(static_cast<int64_t>(bytes));
        if (bytes > 0) {
            send(buffer.data(), from, bytes);
        }
    }

    Buffer sequences_;
    Buffer before_;
    DeviceProblem problem_{};
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_PROBLEM_H_
