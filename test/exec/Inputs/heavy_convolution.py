"""Spills of convolutions with heavy epilogues at the points with the most accumulators of a thread.
usage: heavy_convolution.py FOLDER TILEC TILE_OPT PTXAS"""
import itertools, os, re, subprocess, sys

folder, tilec, tile_opt, ptxas = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
SERIAL = ["block_k=64", "split=1", "strategy=serial", "num_warps=8", "cluster_m=1", "cluster_n=1"]
POINTS = {"ping-pong": ["block_m=128", "block_n=192", "stages=4", "consumers=ping_pong"],
          "half": ["block_m=128", "block_n=128", "stages=4", "consumers=ping_pong"],
          "tall": ["block_m=192", "block_n=256", "stages=3", "consumers=cooperative"]}
FUNCTIONS = {"mish": "%v = %u * tanh(log(1.0 + exp(%u)))", "gelu": "%v = 0.5 * %u * (1.0 + erf(0.70710678 * %u))",
             "softplus": "%v = softplus(%u)", "silu": "%v = %u * sigmoid(%u)", "tanh": "%v = tanh(%u)"}
# The rule that leaves out tiles of 192 sums of a thread: they are tested all the same.
RULE = "    where consumers != ping_pong | block_m * block_n <= 16384\n"
MOST = 800  # bytes that ptxas stores; one loop that rotates all accumulators stores 2000 to 2500


def text(names, t, channels_last):
    dims, x, w, y = (("nhwc,krsc->npqk", "8, 66, 66, 64", "256, 3, 3, 64", "8, 64, 64, 256") if channels_last else
                     ("nchw,kcrs->nkpq", "8, 64, 66, 66", "256, 64, 3, 3", "8, 256, 64, 64"))
    lines = ['%%v0 = convolve %%x, %%w {dims = "%s"} : tensor<f32[%s]>' % (dims, y)]
    for i, name in enumerate(names):
        lines.append(FUNCTIONS[name].replace("%v", "%%v%d" % (2 * i + 1)).replace("%u", "%%v%d" % (2 * i)))
        lines.append("%%r%d = cast %%v%d : tensor<%s[%s]>" % (i, 2 * i + 1, t, y))
        lines.append("%%v%d = cast %%r%d : tensor<f32[%s]>" % (2 * i + 2, i, y))
    lines.append("%%y = cast %%v%d : tensor<%s[%s]>" % (2 * len(names), t, y))
    return "compute @f(%%x: tensor<%s[%s]>, %%w: tensor<%s[%s]>) -> (%%y: tensor<%s[%s]>)\n{\n  %s\n}\n" % (
        t, x, t, w, t, y, "\n  ".join(lines))


count = wrong = 0
for names, t, last in itertools.product([["mish"], ["mish", "mish"], ["gelu"], ["softplus", "silu"],
                                         ["tanh"]],
                                        ["f16", "bf16"], [False, True]):
    path = os.path.join(folder, "_".join(names) + "_%s_%d.tile" % (t, last))
    with open(path, "w") as f: f.write(text(names, t, last))
    plan = subprocess.run([tile_opt, path, "--pass-pipeline=schedule", "--target=sm_90a"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    with open(path, "w") as f: f.write(plan.replace(RULE, ""))
    kernel = re.findall(r"^kernel @(\w+)<block_m", plan, re.M)[-1]
    for name, point in POINTS.items():
        command = [tilec, path, "--kernel=" + kernel, "--target=sm_90a", "--emit=resources", "--ptxas=" + ptxas]
        for parameter in point + SERIAL: command += ["--param", parameter]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        spills = re.search(r"spills +(\d+) bytes stored", run.stdout)
        count += 1
        if not spills or int(spills[1]) > MOST:
            wrong += 1
            print(path, name, run.stdout)
print("%d kernels, %d spill" % (count, wrong))
