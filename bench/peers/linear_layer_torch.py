"""Norm, projections, ReLU linear attention, output layer and residual sum in torch, products in bfloat16.

Eager, compiled, and eager in a CUDA graph.
"""

import torch_peers

torch = torch_peers.torch
functional = torch.nn.functional

HEADS = 4


def make_peers(arrays):
    h = arrays["h"]
    n, width = h.shape
    norm = arrays["scale"], arrays["bias"]
    layers = {
        name: (arrays[f"{name}.weight"].bfloat16(), arrays[f"{name}.bias"].bfloat16())
        for name in ("query", "key", "value", "out")
    }

    def forward():
        x = functional.layer_norm(h, (width,), *norm).bfloat16()
        q, k, v = (functional.linear(x, *layers[name]).view(n, HEADS, -1) for name in ("query", "key", "value"))
        phi_q, phi_k = torch.relu(q) + 1e-3, torch.relu(k) + 1e-3
        state = torch.einsum("nhc,nhd->hcd", phi_k, v) / n
        normalizer = torch.einsum("nhc,hc->nh", phi_q, phi_k.mean(0)) + 1e-12
        mixed = torch.einsum("nhc,hcd->nhd", phi_q, state) / normalizer[:, :, None]
        return h + functional.linear(mixed.flatten(1), *layers["out"])

    return {
        "torch_eager": lambda: forward,
        "torch_compile": lambda: torch_peers.compiled(forward),
        "torch_eager_graph": lambda: torch_peers.Graphed(forward),
    }


torch_peers.serve(make_peers)
