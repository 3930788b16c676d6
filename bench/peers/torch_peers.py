"""Peers in torch on a CUDA device: several by name in one process, timed with events.

A stage's script gives `serve` a function from arrays on the device to the peers it knows, each a function without
arguments that returns a tensor. BENCH_TORCH_DEVICE=cpu checks what the peers compute where there is no GPU.
"""

import os
import time

import peer

torch = peer.require("torch")

DEVICE = os.environ.get("BENCH_TORCH_DEVICE", "cuda")
MIN_MS = 1.0  # of a figure: the mean of so many runs in a row as take this long


class Graphed:
    """`function` captured once in a CUDA graph."""

    def __init__(self, function):
        if DEVICE != "cuda":
            raise RuntimeError("a CUDA graph needs a CUDA device")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                function()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = function()

    def __call__(self):
        self.graph.replay()
        return self.out


def compiled(function):
    """`function` by torch.compile, without its own graphs."""
    return torch.compile(function, fullgraph=True, dynamic=False)


def mean_ms(function, count):
    if DEVICE != "cuda":
        begun = time.perf_counter()
        for _ in range(count):
            function()
        return 1e3 * (time.perf_counter() - begun) / count
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(count):
        function()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / count


def serve(make_peers, extra_version=""):
    """Answers with the peer that the array "peer" names; made anew when another is asked for."""
    if DEVICE == "cuda" and not torch.cuda.is_available():
        peer.miss("torch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    state = {}

    def run(arrays):
        name = bytes(arrays["peer"]).decode()
        if state.get("name") != name:
            state.clear()
            torch.cuda.empty_cache()
            known = {key: torch.tensor(value, device=DEVICE) for key, value in arrays.items() if key != "peer"}
            function = make_peers(known)[name]()
            state.update(name=name, function=function)
            for _ in range(3):
                function()
            once = max(mean_ms(function, 1), 1e-3)
            state["count"] = max(1, min(1000, int(MIN_MS / once) + 1))
            state["out"] = function().detach().double().flatten().cpu().numpy()
        return {"ms": mean_ms(state["function"], state["count"]), "out": state["out"]}

    version = f"torch {torch.__version__}, {torch.cuda.get_device_name() if DEVICE == 'cuda' else DEVICE}"
    peer.serve(version + extra_version, run)
