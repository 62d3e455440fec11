"""Runs a command on a terminal, and answers its prompt.

Usage: at_terminal.py PROMPT COMMAND [ARGUMENT...]. Types the first line of standard input once the
terminal shows PROMPT. Prints what the terminal has shown, and exits with the command's status.
"""

import os
import pty
import select
import sys
import time

PATIENCE = 90


def main() -> None:
    prompt, command = sys.argv[1].encode(), sys.argv[2:]
    answer = sys.stdin.buffer.readline()
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(command[0], command)
    shown = b""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # The command has closed the terminal.
            break
        if answer and prompt in shown:
            os.write(terminal, answer)
            answer = b""
    else:
        sys.exit(f"The command didn't end: {shown!r}")
    print(shown.decode().replace("\r\n", "\n"), end="")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


main()
