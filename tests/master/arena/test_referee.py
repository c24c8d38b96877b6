"""What the referee is told about engines. It runs in ``test_match_command``."""

from __future__ import annotations

import pytest

from master.arena.referee import with_folders


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"EvalFile": "/nets/a.bin"}, {"EvalDir": "/nets", "EvalFile": "a.bin"}),
        ({"BookFile": "/books/b.db"}, {"BookDir": "/books", "BookFile": "b.db"}),
        ({"EvalFile": "a.bin", "Threads": "2"}, {"EvalFile": "a.bin", "Threads": "2"}),
        ({"EvalDir": "/other", "EvalFile": "/nets/a.bin"}, {"EvalDir": "/other", "EvalFile": "/nets/a.bin"}),
    ],
)
def test_an_absolute_file_is_told_as_folder_and_name(given: dict[str, str], told: dict[str, str]) -> None:
    assert with_folders(given) == told
