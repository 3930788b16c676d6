"""Gradients of one training sequence in torch, eager and with its loss compiled."""

import torch_peers
from field_torch import colors, sample_points
from model_torch import TIMES, Model, walks_of, weights_of

torch = torch_peers.torch


def make_peers(arrays):
    leaves = {name: value.clone().requires_grad_() for name, value in weights_of(arrays).items()}
    for time in ("older", "newer"):
        leaves[time] = arrays[f"{time}.features"].clone().requires_grad_()
    names = sorted(leaves)
    model, points = Model(arrays, leaves), arrays["points"]
    steps = range(points.shape[0] - TIMES + 1)
    seen = [(points[s:s + TIMES], arrays[f"attributes.{s}"], walks_of(arrays, s)) for s in steps]
    nearest = [arrays[f"neighbors.{s}"].long().flatten(0, 1) for s in steps]
    layers = [tuple(leaves[f"radiance_field.{layer}.{part}"] for part in ("weight", "bias"))
              for layer in ("first", "second", "out")]
    kernels, limits = (arrays["radii"], arrays["bandwidths"]), arrays["range"].tolist()
    distances = arrays["distances"]
    samples = sample_points(arrays["origins"], arrays["directions"], distances)

    def loss():
        older, newer = ((arrays[f"{time}.positions"], leaves[time]) for time in ("older", "newer"))
        total = 0
        for s in steps:
            older, newer = newer, model.step(older, newer, *seen[s])
            rgb = colors(layers, kernels, limits, newer, nearest[s], samples, distances)
            total = total + (rgb - arrays["target"]).square().mean() / len(steps)
        return total

    def differentiated(function):
        def run():
            gradients = torch.autograd.grad(function(), [leaves[name] for name in names])
            return torch.cat([gradient.flatten() for gradient in gradients])

        return run

    return {
        "torch_eager": lambda: differentiated(loss),
        "torch_compile": lambda: differentiated(torch_peers.compiled(loss)),
    }


torch_peers.serve(make_peers)
