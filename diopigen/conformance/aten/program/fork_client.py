"""`python -S -E fork_client.py SOCKET`: has the program behind SOCKET (`fork_server.py`) fork, gives the new process
its own standard streams, and ends as that process ends. Imports nothing of diopigen, so that it starts at once."""

import os
import signal
import socket
import struct
import sys


def main() -> None:
    """Entry of the program."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        signal.signal(signal.SIGTERM, lambda *_: connection.shutdown(socket.SHUT_WR))  # the server ends the process
        socket.send_fds(connection, [b"0"], [0, 1, 2])
        os.close(0)  # the process reads until the last writer of its input has closed it
        os.close(1)
        answer = connection.recv(4, socket.MSG_WAITALL)
    status = struct.unpack("<i", answer)[0] if len(answer) == 4 else 1 << 8
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
