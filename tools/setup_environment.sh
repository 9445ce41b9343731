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

[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
touch .venv/ready
