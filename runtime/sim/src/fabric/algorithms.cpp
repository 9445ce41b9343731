#include "algorithms.h"

#include <diopigen/dtypes.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "reduce.h"

namespace diopigen::sim::fabric {
namespace {

/// Up to that many bytes every rank reduces all elements: one round less than to reduce a slice each and gather them.
constexpr std::size_t kSmall = 16 * 1024;

diopiDtype_t dtype_of(const Operation& operation) { return static_cast<diopiDtype_t>(operation.dtype); }
std::size_t bytes_of(const Operation& operation) {
    return static_cast<std::size_t>(element_bytes(dtype_of(operation)));
}

void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0 && to != from) {
        std::memcpy(to, from, bytes);
    }
}

/// Calls `step(start, length)` for chunks of `count` elements, once for none: ranks meet in each call.
template <typename Step>
void in_chunks(std::size_t count, std::size_t longest, const Step& step) {
    std::size_t start = 0;
    do {
        const std::size_t length = std::min(longest, count - start);
        step(start, length);
        start += length;
    } while (start < count);
}

std::vector<const void*> chunks_of_all(Communicator& comm, const Operation& operation, std::size_t offset) {
    std::vector<const void*> parts;
    for (int rank = 0; rank < comm.nranks(); ++rank) {
        comm.await(operation, rank);
        parts.push_back(comm.chunk_of(rank) + offset);
    }
    return parts;
}

/// Publishes `length` elements from `start` on of each of the blocks that `send` has for the ranks.
void post_blocks(Communicator& comm, const Operation& operation, const char* send, std::size_t start,
                 std::size_t length) {
    const std::size_t size = bytes_of(operation);
    const auto count = static_cast<std::size_t>(operation.count);
    comm.post(operation, [&](char* chunk) {
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            const auto block = static_cast<std::size_t>(rank);
            copy(chunk + block * length * size, send + (block * count + start) * size, length * size);
        }
        return static_cast<std::size_t>(comm.nranks()) * length * size;
    });
}

std::size_t longest_block(const Communicator& comm, const Operation& operation) {
    return kChunk / bytes_of(operation) / static_cast<std::size_t>(comm.nranks());
}

void post_plain(Communicator& comm, const Operation& operation, const char* from, std::size_t bytes) {
    comm.post(operation, [&](char* chunk) {
        copy(chunk, from, bytes);
        return bytes;
    });
}

}  // namespace

void allReduce(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytes_of(operation);
    const auto op = static_cast<diopiReduceOp_t>(operation.op);
    const auto ranks = static_cast<std::size_t>(comm.nranks());
    in_chunks(static_cast<std::size_t>(operation.count), kChunk / size, [&](std::size_t start, std::size_t length) {
        char* const target = receive + start * size;
        post_plain(comm, operation, send + start * size, length * size);
        if (length * size <= kSmall) {
            reduce_parts(dtype_of(operation), op, target, chunks_of_all(comm, operation, 0), length);
            return;
        }
        const auto first = [&](int rank) { return length * static_cast<std::size_t>(rank) / ranks; };
        const std::size_t own = first(comm.rank());
        const std::size_t own_length = first(comm.rank() + 1) - own;
        const std::vector<const void*> parts = chunks_of_all(comm, operation, own * size);
        comm.post(operation, [&](char* chunk) {
            reduce_parts(dtype_of(operation), op, chunk, parts, own_length);
            return own_length * size;
        });
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            comm.await(operation, rank);
            copy(target + first(rank) * size, comm.chunk_of(rank), (first(rank + 1) - first(rank)) * size);
        }
    });
}

void broadcast(Communicator& comm, const Operation& operation, char* buffer) {
    const std::size_t size = bytes_of(operation);
    in_chunks(static_cast<std::size_t>(operation.count), kChunk / size, [&](std::size_t start, std::size_t length) {
        const bool is_root = comm.rank() == operation.root;
        post_plain(comm, operation, buffer + start * size, is_root ? length * size : 0);
        if (!is_root) {
            comm.await(operation, operation.root);
            copy(buffer + start * size, comm.chunk_of(operation.root), length * size);
        }
    });
}

void allGather(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytes_of(operation);
    const auto count = static_cast<std::size_t>(operation.count);
    in_chunks(count, kChunk / size, [&](std::size_t start, std::size_t length) {
        post_plain(comm, operation, send + start * size, length * size);
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            comm.await(operation, rank);
            copy(receive + (static_cast<std::size_t>(rank) * count + start) * size, comm.chunk_of(rank), length * size);
        }
    });
}

void reduce(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytes_of(operation);
    const auto op = static_cast<diopiReduceOp_t>(operation.op);
    in_chunks(static_cast<std::size_t>(operation.count), kChunk / size, [&](std::size_t start, std::size_t length) {
        post_plain(comm, operation, send + start * size, length * size);
        if (comm.rank() == operation.root) {
            reduce_parts(dtype_of(operation), op, receive + start * size, chunks_of_all(comm, operation, 0), length);
        }
    });
}

void reduceScatter(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytes_of(operation);
    const auto op = static_cast<diopiReduceOp_t>(operation.op);
    const std::size_t longest = longest_block(comm, operation);
    in_chunks(static_cast<std::size_t>(operation.count), longest, [&](std::size_t start, std::size_t length) {
        post_blocks(comm, operation, send, start, length);
        const std::size_t own = static_cast<std::size_t>(comm.rank()) * length * size;
        reduce_parts(dtype_of(operation), op, receive + start * size, chunks_of_all(comm, operation, own), length);
    });
}

void allToAll(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytes_of(operation);
    const auto count = static_cast<std::size_t>(operation.count);
    in_chunks(count, longest_block(comm, operation), [&](std::size_t start, std::size_t length) {
        post_blocks(comm, operation, send, start, length);
        const std::size_t own = static_cast<std::size_t>(comm.rank()) * length * size;
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            comm.await(operation, rank);
            copy(receive + (static_cast<std::size_t>(rank) * count + start) * size, comm.chunk_of(rank) + own,
                 length * size);
        }
    });
}

void allToAll(Communicator& comm, const Operation& operation, const char* send, const Places& sent, char* receive,
              const Places& received) {
    const std::size_t size = bytes_of(operation);
    const auto ranks = static_cast<std::size_t>(comm.nranks());
    // Who sends how much to whom: the number of rounds follows from it, and ranks that expect other counts are told.
    post_plain(comm, operation, reinterpret_cast<const char*>(sent.counts.data()), ranks * sizeof(int64_t));
    int64_t longest = 0;
    for (int rank = 0; rank < comm.nranks(); ++rank) {
        comm.await(operation, rank);
        std::vector<int64_t> counts(ranks);
        std::memcpy(counts.data(), comm.chunk_of(rank), ranks * sizeof(int64_t));
        longest = std::max(longest, *std::max_element(counts.begin(), counts.end()));
        const int64_t sends = counts[static_cast<std::size_t>(comm.rank())];
        const int64_t expected = received.counts[static_cast<std::size_t>(rank)];
        if (sends != expected) {
            comm.fail("rank " + std::to_string(rank) + " sends " + std::to_string(sends) + " elements to rank " +
                      std::to_string(comm.rank()) + ", which expects " + std::to_string(expected));
        }
    }
    const std::size_t most = longest_block(comm, operation);
    const auto length_at = [&](int64_t count, std::size_t start) {
        const auto all = static_cast<std::size_t>(count);
        return all > start ? std::min(most, all - start) : 0;
    };
    for (std::size_t start = 0; start < static_cast<std::size_t>(longest); start += most) {
        comm.post(operation, [&](char* chunk) {
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const std::size_t from = static_cast<std::size_t>(sent.offsets[rank]) + start;
                copy(chunk + rank * most * size, send + from * size, length_at(sent.counts[rank], start) * size);
            }
            return ranks * most * size;
        });
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            comm.await(operation, static_cast<int>(rank));
            const std::size_t to = static_cast<std::size_t>(received.offsets[rank]) + start;
            const char* const chunk = comm.chunk_of(static_cast<int>(rank));
            copy(receive + to * size, chunk + static_cast<std::size_t>(comm.rank()) * most * size,
                 length_at(received.counts[rank], start) * size);
        }
    }
}

void send(Communicator& comm, const Operation& operation, int peer, const char* buffer) {
    const std::size_t bytes = static_cast<std::size_t>(operation.count) * bytes_of(operation);
    in_chunks(bytes, kMessage,
              [&](std::size_t start, std::size_t length) { comm.send_round(operation, peer, buffer + start, length); });
}

void receive(Communicator& comm, const Operation& operation, int peer, char* buffer) {
    const std::size_t bytes = static_cast<std::size_t>(operation.count) * bytes_of(operation);
    in_chunks(bytes, kMessage, [&](std::size_t start, std::size_t length) {
        comm.receive_round(operation, peer, buffer + start, length);
    });
}

}  // namespace diopigen::sim::fabric
