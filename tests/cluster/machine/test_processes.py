"""Sessions of processes."""

from __future__ import annotations

import os
import subprocess
import sys

from cluster.machine.processes import end_session, in_session
from tests.cluster.processes import alive


def test_all_of_a_session_end_and_nobody_else() -> None:
    script = "import os, subprocess, time; os.setpgid(0, 0) if os.getpid() != os.getsid(0) else 0; "
    # It does not wait for the child; otherwise it could end by itself when the child is killed, before its own turn.
    script += "print(subprocess.Popen(['sleep', '1000'], process_group=0).pid, flush=True); time.sleep(1000)"
    leaders = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(2)
    ]
    try:
        children = [int(leader.stdout.readline()) for leader in leaders if leader.stdout is not None]
        assert in_session(leaders[0].pid) == {leaders[0].pid, children[0]}
        end_session(leaders[0].pid)
        assert not in_session(leaders[0].pid)
        assert not alive(children[0])
        assert alive(children[1])
        assert leaders[0].wait(5) == -9  # its parent still learns that it was killed
        end_session(leaders[0].pid)
    finally:
        end_session(leaders[1].pid)
        for leader in leaders:
            leader.wait(5)


def test_its_own_process_is_not_among_those_that_end() -> None:
    assert os.getpid() not in in_session(os.getsid(0))
