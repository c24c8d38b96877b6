"""The part of AWS's command line that a machine's scripts need for their secrets, over boto3."""

from __future__ import annotations

import json
import sys
from itertools import pairwise

import boto3


def main(words: list[str]) -> int:
    options = dict(pairwise(words))
    ssm = boto3.client("ssm", region_name=options["--region"])
    match words[:2]:
        case ["ssm", "get-parameter"]:
            found = ssm.get_parameter(Name=options["--name"], WithDecryption="--with-decryption" in words)
            print(found["Parameter"]["Value"])
        case ["ssm", "put-parameter"]:
            with open(options["--cli-input-json"].removeprefix("file://"), encoding="utf-8") as file:
                ssm.put_parameter(**json.load(file))
        case _:
            print(f"aws: unknown: {words}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
