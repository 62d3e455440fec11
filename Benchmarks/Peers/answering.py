"""answering: carries out calls to a store: one call named by the arguments, or calls that another
process writes to standard input."""

import sys
import time

SERVICE = "org.example.peers"


def account(index):
    return f"account-{index}"


def secret(index):
    return f"secret-{index:025d}"


def answer(calls):
    """Carries out one call if there are arguments. Otherwise each line of standard input is a call
    with its indices, and the answer is the time for each index in nanoseconds, or an error."""
    if len(sys.argv) > 1:
        name, *arguments = sys.argv[1:]
        result = calls[name](*(int(a) if a.isdecimal() else a for a in arguments))
        print("" if result is None else result)
        return
    for line in sys.stdin:
        name, *indices = line.split()
        times = []
        try:
            for index in map(int, indices):
                start = time.perf_counter_ns()
                calls[name](index)
                times.append(time.perf_counter_ns() - start)
        except Exception as error:
            times = [repr(error)]
        print(*times, flush=True)
