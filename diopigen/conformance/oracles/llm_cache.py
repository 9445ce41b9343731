"""The oracles of caches in blocks: request by request, slot by slot, block by block."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.oracles import Answer, Call, Expected, oracle


@oracle("ComputeSlotMapping")
def _compute_slot_mapping(call: Call) -> Answer:
    starts, positions, table = (np.asarray(call[name]) for name in ("query_start_loc", "positions", "block_table"))
    size = int(call["block_size"])
    slots = np.full(len(positions), -1, dtype=np.int64)
    for request in range(len(starts) - 1):
        for token in range(int(starts[request]), min(int(starts[request + 1]), len(positions))):
            block, offset = divmod(int(positions[token]), size)
            slots[token] = int(table[request, block]) * size + offset
    return {"slot_mapping": Expected(slots)}


@oracle("ReshapeAndCache")
def _reshape_and_cache(call: Call) -> Answer:
    found = {}
    for cache, tokens in (("key_cache", "key"), ("value_cache", "value")):
        values = np.array(call[cache])
        rows = values.reshape(-1, *values.shape[2:])
        for token, slot in enumerate(np.asarray(call["slot_mapping"]).tolist()):
            if slot >= 0:
                rows[slot] = call[tokens][token]
        found[cache] = Expected(rows.reshape(values.shape))
    return found


def _copied(call: Call, to: str, source: str) -> Answer:
    values, blocks = np.array(call[to]), np.asarray(call[source])
    for block, destination in zip(call["source_blocks"], call["destination_blocks"], strict=True):
        values[destination] = blocks[block]
    return {to: Expected(values)}


@oracle("CopyBlocksInp")
def _copy_blocks(call: Call) -> Answer:
    return _copied(call, "cache", "cache")


@oracle("SwapBlocks")
def _swap_blocks(call: Call) -> Answer:
    return _copied(call, "destination", "source")
