"""Learning-rate schedules."""

import math

SCHEDULES = ("linear", "cosine", "constant", "step")


def learning_rate(
    step: int, steps: int, peak: float, *, schedule: str, warmup: float, step_at: int, step_factor: float
) -> float:
    """Return the rate of a step counted from 0: linear warm-up over a share of the steps, then the schedule.

    linear, cosine: down to zero at the last step. constant: the peak. step: the peak until `step_at`, then
    `step_factor` of it, as Wikiformer's pre-training has 1e-5 for the first 50,000 steps and 5e-6 after them."""
    warm = max(1, round(warmup * steps))
    if step < warm:
        return peak * (step + 1) / warm
    left = max(0.0, (steps - step) / max(1, steps - warm))
    if schedule == "linear":
        return peak * left
    if schedule == "cosine":
        return peak * 0.5 * (1 - math.cos(math.pi * left))
    return peak * step_factor if schedule == "step" and step >= step_at else peak
