"""Runs a command and appends the CPU time that it took to a file: `python cpu_time.py FILE command...`.

A compiler launcher for CMake. Unlike times on the clock, CPU times of a machine at work say what they would be at rest.
"""

import os
import resource
import subprocess
import sys


def main() -> int:
    log, *command = sys.argv[1:]
    finished = subprocess.run(command, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else "?"
    # One write of one short line: compilers that run at the same time do not mix theirs.
    line = f"{used.ru_utime + used.ru_stime:.1f} {output}\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main())
