"""The kernels for this CPU: AVX2 vectors, else portable loops. Chosen before anything compiles; both face alike."""

from worker.jit import HAS_AVX2

if HAS_AVX2:
    from worker.nnue.vector import (
        ACTIVATION_BYTES,
        arrange_layer,
        copy_row,
        exchange_row,
        exchange_two_rows,
        forward,
        padded_outputs,
        sum_rows,
    )
else:
    from worker.nnue.portable import (
        ACTIVATION_BYTES,
        arrange_layer,
        copy_row,
        exchange_row,
        exchange_two_rows,
        forward,
        padded_outputs,
        sum_rows,
    )

__all__ = [
    "ACTIVATION_BYTES",
    "arrange_layer",
    "copy_row",
    "exchange_row",
    "exchange_two_rows",
    "forward",
    "padded_outputs",
    "sum_rows",
]
