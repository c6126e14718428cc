"""Keeps the lab's vLLM off AMX instructions where the CPU names them and the machine does not let them run.

    amx_guard.py       multiplies once in bfloat16; where that ends with an illegal instruction, installs itself into this environment

Some virtual machines show amx_tile in /proc/cpuinfo and grant the permission, yet the first tile instruction kills the process. oneDNN has
a variable against it; vLLM's own attention kernels ask torch. Installed, this module is imported at every start of this Python.
"""

import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig

PRODUCT = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); (a @ a).sum()"
NAME = "lab_amx_guard"


def amx_kills():
    """Whether a product in bfloat16 ends with an illegal instruction."""
    done = subprocess.run([sys.executable, "-c", PRODUCT], check=False, stderr=subprocess.DEVNULL)
    if done.returncode not in (0, -signal.SIGILL):
        raise SystemExit(f"amx_guard: torch cannot multiply: exit {done.returncode}")
    return done.returncode == -signal.SIGILL


def install():
    """Into site-packages, with the .pth file that imports it."""
    site = pathlib.Path(sysconfig.get_paths()["purelib"])
    shutil.copy(__file__, site / f"{NAME}.py")
    (site / f"{NAME}.pth").write_text(f"import {NAME}; {NAME}.guard()\n")


class TorchWithoutAmx:
    """Finds torch.cpu as everybody does, and says afterwards that there are no tiles."""

    def find_spec(self, name, path=None, target=None):
        """Only torch.cpu is of interest."""
        if name != "torch.cpu":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def run_and_deny(module):
            run(module)
            module._is_amx_tile_supported = lambda: False

        spec.loader.exec_module = run_and_deny
        return spec


def guard():
    """Called at the start of every Python of the environment."""
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    sys.meta_path.insert(0, TorchWithoutAmx())


if __name__ == "__main__":
    if amx_kills():
        install()
        if amx_kills():
            raise SystemExit("amx_guard: a product in bfloat16 is an illegal instruction here, even without AMX")
        print("AMX is named by this CPU and does not run: left out")
    else:
        print("bfloat16 products run")
