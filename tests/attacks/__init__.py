"""Attacks: hostile requests, failing providers, odd answers, lost stores, random input. Each is a table and one test.

    make faults       every fault at every place on every wire, and every odd answer (some 10,500 streams)
    make soak         minutes of streams of all these kinds; nothing may be left of them
    make fuzz N=...   random mutations through all that reads strangers' bytes

`make test` runs a fixed sample of the first, a few of the second, and every input that ever failed.
"""
