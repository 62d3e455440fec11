"""answering: a store's calls, as a process of their own or for a process that asks."""

import sys
import time

SERVICE = "org.example.peers"


def account(index):
    return f"account-{index}"


def secret(index):
    return f"secret-{index:025d}"


def answer(calls):
    """With arguments one call. Without, each line of standard input is a call and its indices, and
    is answered with the time of each in nanoseconds, or with what went wrong."""
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
