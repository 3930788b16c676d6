"""A dynamics step in torch: eager, compiled, eager in a CUDA graph; and a PyTorch Geometric network of equal width."""

import torch_peers
from model_torch import Model, concatenated_change, walks_of, weights_of

torch = torch_peers.torch


def make_geometric(model, walks):
    """Two convolutions with feed-forward layers in place of every block, over the edges of one hop."""
    from torch_geometric.nn import TransformerConv

    roots, ends, loads = walks
    direct = loads[:, 1] > 0
    edges = torch.stack([ends[direct], roots[direct]])
    width = model.weights["interlacer.last_norm.scale"].shape[0]
    layers = [TransformerConv(width, width).to(torch_peers.DEVICE, model.dense) for _ in range(2 * model.blocks)]

    def interact(h):
        for index, layer in enumerate(layers):
            name = f"interlacer.block{index // 2}." + ("global", "local")[index % 2]
            h = h + layer(model.norm(name + "_norm", h).to(model.dense), edges).float()
            h = h + model.feed_forward(name + "_ffn", model.norm(name + "_ffn_norm", h))
        return h

    return interact


def make_peers(arrays):
    dense = torch.bfloat16 if arrays["bf16"].item() else torch.float32
    model, walks = Model(arrays, weights_of(arrays), dense), walks_of(arrays, 0)
    older, newer = ((arrays[f"{time}.positions"], arrays[f"{time}.features"]) for time in ("older", "newer"))
    points, attributes = arrays["points"], arrays["attributes.0"]

    def step():
        return concatenated_change(newer, model.step(older, newer, points, attributes, walks))

    def geometric():
        interact = make_geometric(model, walks)
        return lambda: concatenated_change(
            newer, model.head(interact(model.tokens(older, newer, points, attributes)), older, newer))

    return {
        "torch_eager": lambda: step,
        "torch_compile": lambda: torch_peers.compiled(step),
        "torch_eager_graph": lambda: torch_peers.Graphed(step),
        "pyg": geometric,
    }


with torch.no_grad():
    torch_peers.serve(make_peers)
