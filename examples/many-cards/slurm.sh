#!/bin/bash
# One shard for each task of a Slurm array, one worker for each card of its node:
#     sbatch --array=1-8 examples/many-cards/slurm.sh
# A task that is killed or requeued goes on where it ended; afterwards, on any node:
#     diopigen conformance report merge "$RESULTS"/*.jsonl --output json=all.json --output html=all.html
#SBATCH --job-name=conformance
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=16
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --output=conformance-%A-%a.log
set -euo pipefail

LIB=${LIB:?the library under test, on storage that all nodes see}
RESULTS=${RESULTS:?a folder on storage that all nodes see}
CARDS=${CARDS:-8}
# Names the variable by which the vendor's driver selects cards.
VISIBLE=${VISIBLE:-CUDA_VISIBLE_DEVICES}
# Results of an earlier run: shards then take equally long. All tasks must name the same file.
COSTS=${COSTS:-}

shard=$SLURM_ARRAY_TASK_ID
# Of the whole run: an array that starts single shards again (--array=3) counts fewer.
count=${COUNT:-$SLURM_ARRAY_TASK_COUNT}
exec diopigen conformance run --lib "$LIB" -j "$CARDS" \
    --shard "$shard/$count" ${COSTS:+--costs "$COSTS"} \
    --worker-env "$VISIBLE={worker}" --sentinels 50 \
    --resume "$RESULTS/$shard.jsonl"
