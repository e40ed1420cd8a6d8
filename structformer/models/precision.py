"""Which arithmetic a machine is quick at."""

from __future__ import annotations


def fast_bf16() -> bool:
    """Whether this CPU has instructions for bfloat16, with which matrices are multiplied several times as fast as in
    float32.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return any("avx512_bf16" in line or "amx_bf16" in line for line in file if line.startswith("flags"))
    except OSError:
        return False
