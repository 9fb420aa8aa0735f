"""Checks that annotated code assembles to the same as bare code: both_forms.py PTXAS FOLDER TARGETS KERNEL [OPTION]..

Without a line table the cubins must be equal. With one, ptxas puts the text of the PTX into the cubin, and the line
of each instruction in it; then the contents of all other sections must be equal."""
import os
import struct
import subprocess
import sys

ptxas, folder, targets, *kernel = sys.argv[1:]
OF_THE_TEXT = {f"{prefix}.nv_debug_{what}" for prefix in ("", ".nv.merc") for what in ("ptx_txt", "line_sass")}


def assemble(target, options):
    """Runs in a folder, so that no file names end up in the cubin."""
    path = os.path.join(folder, "kernel")
    subprocess.run(["tilec", *kernel, f"--target={target}", *options, "-o", f"{path}.ptx"], check=True)
    subprocess.run([ptxas, f"-arch={target}", f"{path}.ptx", "-o", f"{path}.cubin"], check=True)
    with open(f"{path}.cubin", "rb") as cubin:
        return cubin.read()


def sections(elf):
    """{name: contents} of ELF64; NOBITS sections are empty."""
    offset, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]
    names = headers[names][4]
    return {elf[names + name:elf.index(b"\0", names + name)].decode(): b"" if kind == 8 else elf[at:at + length]
            for name, kind, _, _, at, length in headers}


for target in targets.split(","):
    if assemble(target, ["--no-line-info"]) != assemble(target, ["--no-line-info", "--bare"]):
        sys.exit(f"{target}: other bytes")
    annotated, bare = sections(assemble(target, [])), sections(assemble(target, ["--bare"]))
    code = [name for name in bare if name.startswith(".text.")]
    others = [name for name in {*annotated, *bare} - OF_THE_TEXT if annotated.get(name) != bare.get(name)]
    if others or not code or annotated[".nv_debug_ptx_txt"] == bare[".nv_debug_ptx_txt"]:
        sys.exit(f"{target}: sections {others} differ, of {sorted(bare)}")
    print(f"{target}: the same")
