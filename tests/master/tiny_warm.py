"""``gougi WORDS`` with one small function as the only compiled code: testing the cache then takes no minute."""

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
