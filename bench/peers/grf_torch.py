"""Walk-masked attention over merged pairs in torch, and by PyTorch Geometric's message passing."""

import torch_peers

torch = torch_peers.torch

FEATURE_EPSILON = 1e-3
NORMALIZER_EPSILON = 1e-12


def feature(x):
    return torch.relu(x) + FEATURE_EPSILON


def make_peers(arrays):
    bf16, backward = (bool(flag) for flag in arrays["flags"].tolist())
    dtype = torch.bfloat16 if bf16 else torch.float32
    q, k, v = (arrays[name].to(dtype).requires_grad_(backward) for name in "qkv")
    table = arrays["table"].clone().requires_grad_(backward)
    offsets = arrays["offsets"].long()
    words = arrays["entries"].long() & 0xFFFFFFFF
    nodes, codes = words & 0xFFFFFF, words >> 24
    n, width = q.shape
    rows = torch.repeat_interleave(torch.arange(n, device=torch_peers.DEVICE), offsets.diff())

    def sums(scores, q_like):
        normalizer = torch.zeros(n, device=torch_peers.DEVICE).index_add(0, rows, scores) + NORMALIZER_EPSILON
        weighted = scores[:, None].to(q_like.dtype) * v[nodes]
        out = torch.zeros(n, width, device=torch_peers.DEVICE, dtype=q_like.dtype).index_add(0, rows, weighted)
        return out / normalizer[:, None].to(q_like.dtype)

    def forward():
        scores = (feature(q)[rows] * feature(k)[nodes]).sum(1, dtype=torch.float32) * table[codes]
        return sums(scores, q)

    def differentiated(function):
        out = function()
        inputs = (q, k, v, table)

        def run():
            grads = torch.autograd.grad(out, inputs, arrays["grad_out"], retain_graph=True)
            return torch.cat([grad.flatten() for grad in grads])

        return run

    def pyg():
        from torch_geometric.nn import MessagePassing

        class Layer(MessagePassing):
            def __init__(self):
                super().__init__(aggr="sum", flow="source_to_target", node_dim=0)

            def forward(self, edges, queries, keys, values, weights):
                one = torch.ones(n, 1, device=torch_peers.DEVICE, dtype=values.dtype)
                both = torch.cat([values, one], 1)
                out = self.propagate(edges, queries=feature(queries), keys=feature(keys), both=both, weights=weights)
                return out[:, :width] / (out[:, width:] + NORMALIZER_EPSILON)

            def message(self, queries_i, keys_j, both_j, weights):
                scores = (queries_i * keys_j).sum(1, dtype=torch.float32) * weights
                return scores[:, None].to(both_j.dtype) * both_j

        layer, edges = Layer(), torch.stack([nodes, rows])
        return lambda: layer(edges, q, k, v, table[codes])

    def wrap(make):
        return lambda: differentiated(make()) if backward else make()

    return {
        "torch_eager": wrap(lambda: forward),
        "torch_compile": wrap(lambda: torch_peers.compiled(forward)),
        "torch_eager_graph": lambda: torch_peers.Graphed(forward),
        "pyg": wrap(pyg),
    }


torch_peers.serve(make_peers)
