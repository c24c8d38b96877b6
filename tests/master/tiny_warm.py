"""``gougi WORDS`` where all that is compiled is one small function: what becomes of its code needs no minute."""

from __future__ import annotations

from numba import int64

from gougi.__main__ import main
from worker import warm
from worker.jit import jit


@jit()
def twice(number: int) -> int:
    return number + number


if __name__ == "__main__":
    vars(warm)["_STAGES"] = (("numbers", twice, (int64,)),)
    main()
