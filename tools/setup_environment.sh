#!/bin/sh
# Makes .venv with everything that building and testing need, all of it from the package index.
# Arguments: the extra to install (dev by default). A missing tool gets one line that says what to install.
set -eu
cd "$(dirname "$0")/.."
extra=${1:-dev}
python=${PYTHON:-python3}

missing() {
    echo "diopigen: $1 is missing: $2" >&2
    exit 2
}

command -v "$python" >/dev/null 2>&1 || missing "Python" "apt install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    missing "Python 3.10 or newer ($("$python" --version) found)" "install one and run make PYTHON=python3.x"
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing "the venv module of Python" "apt install python3-venv"
command -v "${CXX:-g++}" >/dev/null 2>&1 || missing "a C++ compiler" "apt install g++"
command -v "${CC:-gcc}" >/dev/null 2>&1 || missing "a C compiler" "apt install gcc"

# What pip does, a line for each package; its last words where it fails.
install() {
    started=$(date +%s)
    echo "environment  .venv: pip installs diopigen with [$extra]; about a minute"
    mkdir -p build
    .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --editable ".[$extra]" \
        >build/pip.log 2>&1 &
    pip=$!
    shown=0
    while kill -0 "$pip" 2>/dev/null; do
        sleep 2
        count=$(grep -c '^Collecting' build/pip.log || true)
        if [ "$count" != "$shown" ]; then
            shown=$count
            last=$(grep '^Collecting' build/pip.log | tail -n 1 | cut -d' ' -f2)
            echo "environment  $(($(date +%s) - started)) s: $count packages found, the last is $last"
        fi
    done
    if ! wait "$pip"; then
        tail -n 20 build/pip.log >&2
        echo "diopigen: the environment was not made: pip failed; all that it printed is in build/pip.log" >&2
        exit 1
    fi
    echo "environment  ready after $(($(date +%s) - started)) s"
}

[ -x .venv/bin/python ] || { echo "environment  $("$python" --version) makes .venv" && "$python" -m venv .venv; }
install
touch .venv/ready
