"""Types the README's example of two machines into two shells, and answers both questions.

Usage: two_shells.py README FOLDER. FOLDER gets the data of etcd and the shells' home folders. The
programs of the example are looked up in PATH. Prints the digits that both shells have shown.
"""

import os
import pty
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time

PROMPT = "READY> "
PATIENCE = 90


class Shell:
    """An interactive bash on a terminal of its own."""

    def __init__(self) -> None:
        self.output = ""
        self.position = 0
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ["PS1"] = PROMPT
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.expect(PROMPT)

    def expect(self, pattern: str) -> str:
        """Waits until the terminal shows a text, and returns what came before its end."""
        end = time.monotonic() + PATIENCE
        while True:
            found = re.compile(pattern).search(self.output, self.position)
            if found:
                text = self.output[self.position : found.end()]
                self.position = found.end()
                return text
            if time.monotonic() > end:
                sys.exit(f"{pattern!r} was not shown:\n{self.output}")
            if select.select([self.terminal], [], [], 1)[0]:
                self.output += os.read(self.terminal, 4096).decode().replace("\r\n", "\n")

    def type(self, line: str) -> None:
        os.write(self.terminal, line.encode() + b"\n")

    def run(self, line: str) -> str:
        self.type(line)
        return self.expect(PROMPT)

    def end(self) -> None:
        """Kills the shell and all programs that it has started."""
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getsid(int(process)) == self.process:
                    os.kill(int(process), signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(self.process, 0)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def blocks(readme: str) -> list[list[str]]:
    """The commands of each console block of the section, with the output that follows them."""
    section = readme.split("\n## More than one machine\n")[1].split("\n## ")[0]
    found = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [block.replace("\\\n", " ").splitlines() for block in found]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        readme = file.read()
    folder = sys.argv[2]
    os.environ["TMPDIR"] = folder
    port, peer = free_port(), free_port()
    all_blocks = [
        [
            line.removeprefix("$ ").replace("/tmp/etcd", folder + "/etcd").replace("2379", str(port))
            for line in block
        ]
        for block in blocks(readme)
    ]
    (certificate, server), prepare, first, second, then, (get, secret) = all_blocks
    peers = f"http://127.0.0.1:{peer}"
    subprocess.run(shlex.split(certificate), check=True, capture_output=True)
    etcd = subprocess.Popen(
        shlex.split(server)
        + ["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers]
        + ["--initial-cluster", f"default={peers}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    shells: list[Shell] = []
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with socket.socket() as client:
                if client.connect_ex(("localhost", port)) == 0:
                    break
            time.sleep(0.1)
        for _ in range(2):
            shells.append(Shell())
            for line in prepare:
                shells[-1].run(line)
        desk, laptop = shells
        (found, approve), (join, run) = first, second
        desk.run(found)
        desk.type(approve)
        laptop.type(join)
        shown = []
        for shell in shells:
            text = shell.expect("Type “yes” if the other machine shows the same digits: ")
            shown += re.findall(r"Digits: (.*)\n", text)
        if len(shown) != 2 or shown[0] != shown[1]:
            sys.exit(f"Different digits: {shown}")
        for shell in shells:
            shell.type("yes")
        for shell in shells:
            shell.expect(PROMPT)
        laptop.run(run)
        for line in then:
            desk.run(line)
        end = time.monotonic() + PATIENCE
        while secret not in laptop.run(get).splitlines():
            if time.monotonic() > end:
                sys.exit(f"The second shell doesn't get the secret:\n{laptop.output}")
            time.sleep(0.5)
        print(shown[0])
    finally:
        for shell in shells:
            shell.end()
        etcd.kill()
        etcd.wait()


main()
