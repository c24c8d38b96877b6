"""The part of the trainer that needs PyTorch: only ``gougi train`` imports it, and nothing else imports torch."""

import os

# torch's threads wait for one another hundreds of times a batch. By default they wait busily, and keep the cores from
# the loader, the sums of rows and whatever else runs. The library reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
