"""Attention mechanisms of `interlacer attention` against the same formulas in NumPy; prints a line a mechanism.

Arrays go to the program and come back as safetensors files. Needs numpy alone:

    python3 docs/examples/attention.py [PROGRAM]
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64}


def write_tensors(path, tensors):
    """The format is a length, a JSON header with type, shape and place of every array, and their bytes."""
    header, data = {}, b""
    for name, array in sorted(tensors.items()):
        array = np.ascontiguousarray(array)
        word = {np.dtype(t): w for w, t in TYPES.items()}[array.dtype]
        place = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": word, "shape": list(array.shape), "data_offsets": place}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_tensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(raw[first:last], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def attention(program, mechanism, tensors, way, **options):
    """`interlacer attention run`: the output and the parameters that were used."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.safetensors", Path(folder) / "out.safetensors"
        write_tensors(source, tensors)
        subprocess.run([program, "attention", "run", mechanism, "--input", source, "-o", target, "--way", way,
                        "--options", json.dumps(options), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return read_tensors(target)


def masked_linear(q, k, v, mask, epsilon=1e-3):
    """D^-1 (M * A) V with A of features ReLU(x) + epsilon; mask [H,L,L]."""
    weights = mask * ((np.maximum(q, 0) + epsilon) @ np.swapaxes(np.maximum(k, 0) + epsilon, 2, 3))
    return weights @ v / weights.sum(3, keepdims=True)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "interlacer"
    random = np.random.default_rng(1)
    rows, columns, heads = 5, 6, 2
    count = rows * columns
    q, k, v = (random.normal(size=(2, heads, count, width)) for width in (4, 4, 3))
    tokens = {"q": q, "k": k, "v": v, "grid": np.array([rows, columns])}

    def report(name, way, got, expected):
        error = np.linalg.norm(got - expected) / np.linalg.norm(expected)
        print(f"{name} {way}: {error:.1e} from NumPy")

    # A grid: b of the difference of places, by FFT.
    b = random.uniform(0.1, 1, size=(heads, (2 * rows - 1) * (2 * columns - 1)))
    row, column = np.divmod(np.arange(count), columns)
    place = (row[:, None] - row + rows - 1) * (2 * columns - 1) + column[:, None] - column + columns - 1
    result = attention(program, "toeplitz_nd", {**tokens, "parameters.b": b}, "fastmult")
    report("toeplitz_nd", "fastmult", result["out"], masked_linear(q, k, v, b[:, place]))

    # A ring: the heat kernel of its Laplacian, by Chebyshev polynomials.
    ends = np.arange(count)
    ring = {"graph.offsets": 2 * np.arange(count + 1),
            "graph.neighbors": np.stack([ends - 1, ends + 1], 1).reshape(-1) % count}
    adjacency = np.zeros((count, count))
    adjacency[ends, (ends + 1) % count] = adjacency[(ends + 1) % count, ends] = 1
    values, vectors = np.linalg.eigh(2 * np.eye(count) - adjacency)
    result = attention(program, "gdk", {**tokens, **ring}, "fastmult", **{"lambda": 1.5})
    heat = vectors * np.exp(-result["parameters.lambda"][:, None, None] * values) @ vectors.T
    report("gdk", "fastmult", result["out"], masked_linear(q, k, v, heat))

    # The same ring: three hops of walks, all of them, with softmax scores of every pair.
    powers = [np.linalg.matrix_power(adjacency / 2, t) for t in range(4)]
    result = attention(program, "grf_exact", {**tokens, **ring}, "pairs", hops=3, score="softmax")
    mask = np.einsum("ht,tij->hij", result["parameters.f"], powers)
    weights = mask * np.exp(q @ np.swapaxes(k, 2, 3) / 2)
    report("grf_exact", "pairs", result["out"], weights @ v / weights.sum(3, keepdims=True))


if __name__ == "__main__":
    main()
