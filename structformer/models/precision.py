"""Which arithmetic a machine is quick at, and what a training computes in."""


def fast_bf16() -> bool:
    """Whether this CPU has instructions for bfloat16, with which matrices multiply several times faster."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return any("avx512_bf16" in line or "amx_bf16" in line for line in file if line.startswith("flags"))
    except OSError:
        return False


def default_precision(*, on_gpu: bool) -> str:
    """Return "bf16" if the device has instructions for it, else "no", float32."""
    return "bf16" if on_gpu or fast_bf16() else "no"
