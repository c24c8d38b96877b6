"""A client of Ray, for the tests: tries to connect to an address and prints ``let in``, or the kind of the refusal."""

from __future__ import annotations

import os
import sys

os.environ["RAY_NUM_REDIS_GET_RETRIES"] = "1"

import ray
from ray.exceptions import AuthenticationError


def main() -> None:
    try:
        ray.init(sys.argv[1], logging_level="ERROR", log_to_driver=False)
    except AuthenticationError:
        print("AuthenticationError")
    except ConnectionError as error:
        print("AuthenticationError" if "AuthenticationError" in str(error.__cause__) else error)
    else:
        print("let in")


if __name__ == "__main__":
    main()
