"""Runs a command in a copy of the checkout on the newest Debian, whose compiler and Python users will have.

    tools/newest_debian.py make demo test

debootstrap makes the system, Debian's `sid`, in build/newest_debian, which a second run uses again. Needs root and
debootstrap; where one is missing, it says so, and the exit code is 0.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bare_machine import NAMED, index_variables

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = ROOT / "build/newest_debian"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def main() -> int:
    if len(sys.argv) < 2:
        print(f"usage: {sys.argv[0]} COMMAND...", file=sys.stderr)
        return 2
    missing = [] if os.geteuid() == 0 else ["root"]
    missing += [] if shutil.which("debootstrap") else ["debootstrap"]
    if missing:
        print(f"newest Debian: not tried, since {' and '.join(missing)} is missing")
        return 0
    if not (SYSTEM / "usr/bin/g++").exists():
        shutil.rmtree(SYSTEM, ignore_errors=True)
        packages = ",".join([*NAMED, "python3-dev", "ca-certificates"])
        run("debootstrap", "--variant=minbase", f"--include={packages}", "sid", SYSTEM)
    for name in ("etc/resolv.conf", CERTIFICATES):  # those of this machine, which may reach the network by a proxy
        shutil.copy(Path("/", name), SYSTEM / name)
    copy = SYSTEM / "diopigen"
    shutil.rmtree(copy, ignore_errors=True)
    run("git", "clone", "--quiet", ROOT, copy)
    # The namespace goes with the process, and with it what is mounted.
    program = f"""
mount --rbind /dev {SYSTEM}/dev && mount -t proc proc {SYSTEM}/proc &&
exec chroot {SYSTEM} sh -c 'cd /{copy.name} && g++ --version | head -n 1 && python3 --version && exec "$@"' sh "$@"
"""
    command = ["unshare", "--mount", "sh", "-c", program, "sh", *sys.argv[1:]]
    variables = {**index_variables(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    return subprocess.run(command, env=variables, check=False).returncode


def run(*command: str | Path) -> None:
    """A step. Raises `SystemExit` where it fails."""
    if subprocess.run(command, check=False).returncode != 0:
        raise SystemExit(f"newest Debian: failed: {' '.join(map(str, command))}")


if __name__ == "__main__":
    sys.exit(main())
