#!/bin/bash
# One node with pytest-xdist: a test for each case, a worker for each card.
#     LIB=build/libdiopi_impl.so CARDS=8 examples/many-cards/node.sh [options of pytest]
set -euo pipefail
LIB=${LIB:?the library under test}
CARDS=${CARDS:-8}
VISIBLE=${VISIBLE:-CUDA_VISIBLE_DEVICES}
exec python -m pytest --diopi-lib "$LIB" -n "$CARDS" --dist worksteal \
    --diopi-worker-env "$VISIBLE={worker}" --junit-xml conformance.xml "$@"
