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

diopiDtype_t dtypeOf(const Operation& operation) { return static_cast<diopiDtype_t>(operation.dtype); }
std::size_t bytesOf(const Operation& operation) { return static_cast<std::size_t>(elementBytes(dtypeOf(operation))); }

void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0 && to != from) {
        std::memcpy(to, from, bytes);
    }
}

/// Calls `step(start, length)` for chunks of `count` elements, once for none: ranks meet in each call.
template <typename Step>
void inChunks(std::size_t count, std::size_t longest, const Step& step) {
    std::size_t start = 0;
    do {
        const std::size_t length = std::min(longest, count - start);
        step(start, length);
        start += length;
    } while (start < count);
}

std::vector<const void*> chunksOfAll(Communicator& comm, const Operation& operation, std::size_t offset) {
    std::vector<const void*> parts;
    for (int rank = 0; rank < comm.nranks(); ++rank) {
        comm.await(operation, rank);
        parts.push_back(comm.chunkOf(rank) + offset);
    }
    return parts;
}

/// Publishes `length` elements from `start` on of each of the blocks that `send` has for the ranks.
void postBlocks(Communicator& comm, const Operation& operation, const char* send, std::size_t start,
                std::size_t length) {
    const std::size_t size = bytesOf(operation);
    const auto count = static_cast<std::size_t>(operation.count);
    comm.post(operation, [&](char* chunk) {
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            const auto block = static_cast<std::size_t>(rank);
            copy(chunk + block * length * size, send + (block * count + start) * size, length * size);
        }
        return static_cast<std::size_t>(comm.nranks()) * length * size;
    });
}

std::size_t longestBlock(const Communicator& comm, const Operation& operation) {
    return kChunk / bytesOf(operation) / static_cast<std::size_t>(comm.nranks());
}

void postPlain(Communicator& comm, const Operation& operation, const char* from, std::size_t bytes) {
    comm.post(operation, [&](char* chunk) {
        copy(chunk, from, bytes);
        return bytes;
    });
}

}  // namespace

void allReduce(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytesOf(operation);
    const auto op = static_cast<diopiReduceOp_t>(operation.op);
    const auto ranks = static_cast<std::size_t>(comm.nranks());
    inChunks(static_cast<std::size_t>(operation.count), kChunk / size, [&](std::size_t start, std::size_t length) {
        char* const target = receive + start * size;
        postPlain(comm, operation, send + start * size, length * size);
        if (length * size <= kSmall) {
            reduceParts(dtypeOf(operation), op, target, chunksOfAll(comm, operation, 0), length);
            return;
        }
        const auto first = [&](int rank) { return length * static_cast<std::size_t>(rank) / ranks; };
        const std::size_t own = first(comm.rank());
        const std::size_t ownLength = first(comm.rank() + 1) - own;
        const std::vector<const void*> parts = chunksOfAll(comm, operation, own * size);
        comm.post(operation, [&](char* chunk) {
            reduceParts(dtypeOf(operation), op, chunk, parts, ownLength);
            return ownLength * size;
        });
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            comm.await(operation, rank);
            copy(target + first(rank) * size, comm.chunkOf(rank), (first(rank + 1) - first(rank)) * size);
        }
    });
}

void broadcast(Communicator& comm, const Operation& operation, char* buffer) {
    const std::size_t size = bytesOf(operation);
    inChunks(static_cast<std::size_t>(operation.count), kChunk / size, [&](std::size_t start, std::size_t length) {
        const bool isRoot = comm.rank() == operation.root;
        postPlain(comm, operation, buffer + start * size, isRoot ? length * size : 0);
        if (!isRoot) {
            comm.await(operation, operation.root);
            copy(buffer + start * size, comm.chunkOf(operation.root), length * size);
        }
    });
}

void allGather(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytesOf(operation);
    const auto count = static_cast<std::size_t>(operation.count);
    inChunks(count, kChunk / size, [&](std::size_t start, std::size_t length) {
        postPlain(comm, operation, send + start * size, length * size);
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            comm.await(operation, rank);
            copy(receive + (static_cast<std::size_t>(rank) * count + start) * size, comm.chunkOf(rank), length * size);
        }
    });
}

void reduce(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytesOf(operation);
    const auto op = static_cast<diopiReduceOp_t>(operation.op);
    inChunks(static_cast<std::size_t>(operation.count), kChunk / size, [&](std::size_t start, std::size_t length) {
        postPlain(comm, operation, send + start * size, length * size);
        if (comm.rank() == operation.root) {
            reduceParts(dtypeOf(operation), op, receive + start * size, chunksOfAll(comm, operation, 0), length);
        }
    });
}

void reduceScatter(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytesOf(operation);
    const auto op = static_cast<diopiReduceOp_t>(operation.op);
    const std::size_t longest = longestBlock(comm, operation);
    inChunks(static_cast<std::size_t>(operation.count), longest, [&](std::size_t start, std::size_t length) {
        postBlocks(comm, operation, send, start, length);
        const std::size_t own = static_cast<std::size_t>(comm.rank()) * length * size;
        reduceParts(dtypeOf(operation), op, receive + start * size, chunksOfAll(comm, operation, own), length);
    });
}

void allToAll(Communicator& comm, const Operation& operation, const char* send, char* receive) {
    const std::size_t size = bytesOf(operation);
    const auto count = static_cast<std::size_t>(operation.count);
    inChunks(count, longestBlock(comm, operation), [&](std::size_t start, std::size_t length) {
        postBlocks(comm, operation, send, start, length);
        const std::size_t own = static_cast<std::size_t>(comm.rank()) * length * size;
        for (int rank = 0; rank < comm.nranks(); ++rank) {
            comm.await(operation, rank);
            copy(receive + (static_cast<std::size_t>(rank) * count + start) * size, comm.chunkOf(rank) + own,
                 length * size);
        }
    });
}

void allToAll(Communicator& comm, const Operation& operation, const char* send, const Places& sent, char* receive,
              const Places& received) {
    const std::size_t size = bytesOf(operation);
    const auto ranks = static_cast<std::size_t>(comm.nranks());
    // Who sends how much to whom: the number of rounds follows from it, and ranks that expect other counts are told.
    postPlain(comm, operation, reinterpret_cast<const char*>(sent.counts.data()), ranks * sizeof(int64_t));
    int64_t longest = 0;
    for (int rank = 0; rank < comm.nranks(); ++rank) {
        comm.await(operation, rank);
        std::vector<int64_t> counts(ranks);
        std::memcpy(counts.data(), comm.chunkOf(rank), ranks * sizeof(int64_t));
        longest = std::max(longest, *std::max_element(counts.begin(), counts.end()));
        const int64_t sends = counts[static_cast<std::size_t>(comm.rank())];
        const int64_t expected = received.counts[static_cast<std::size_t>(rank)];
        if (sends != expected) {
            comm.fail("rank " + std::to_string(rank) + " sends " + std::to_string(sends) + " elements to rank " +
                      std::to_string(comm.rank()) + ", which expects " + std::to_string(expected));
        }
    }
    const std::size_t most = longestBlock(comm, operation);
    const auto lengthAt = [&](int64_t count, std::size_t start) {
        const auto all = static_cast<std::size_t>(count);
        return all > start ? std::min(most, all - start) : 0;
    };
    for (std::size_t start = 0; start < static_cast<std::size_t>(longest); start += most) {
        comm.post(operation, [&](char* chunk) {
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const std::size_t from = static_cast<std::size_t>(sent.offsets[rank]) + start;
                copy(chunk + rank * most * size, send + from * size, lengthAt(sent.counts[rank], start) * size);
            }
            return ranks * most * size;
        });
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            comm.await(operation, static_cast<int>(rank));
            const std::size_t to = static_cast<std::size_t>(received.offsets[rank]) + start;
            const char* const chunk = comm.chunkOf(static_cast<int>(rank));
            copy(receive + to * size, chunk + static_cast<std::size_t>(comm.rank()) * most * size,
                 lengthAt(received.counts[rank], start) * size);
        }
    }
}

void send(Communicator& comm, const Operation& operation, int peer, const char* buffer) {
    const std::size_t bytes = static_cast<std::size_t>(operation.count) * bytesOf(operation);
    inChunks(bytes, kMessage,
             [&](std::size_t start, std::size_t length) { comm.sendRound(operation, peer, buffer + start, length); });
}

void receive(Communicator& comm, const Operation& operation, int peer, char* buffer) {
    const std::size_t bytes = static_cast<std::size_t>(operation.count) * bytesOf(operation);
    inChunks(bytes, kMessage, [&](std::size_t start, std::size_t length) {
        comm.receiveRound(operation, peer, buffer + start, length);
    });
}

}  // namespace diopigen::sim::fabric
