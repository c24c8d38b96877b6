"""The part of the trainer that needs PyTorch: only ``gougi train`` imports it, and nothing else imports torch."""

import os

# torch's threads wait for one another hundreds of times per batch. By default they busy-wait, and keep the cores from
# the loader, the sums of rows and everything else. The library reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
