"""Colours of rays in torch from the particles nearest to their samples, every sample visited."""

import torch_peers

torch = torch_peers.torch
functional = torch.nn.functional

MASS_FLOOR = 1e-6
LOG_MASS_SCALE = 0.1


def sample_points(origins, directions, distances):
    """[r * s,3]; distances [r,s]."""
    return (origins[:, None] + distances[..., None] * directions[:, None]).reshape(-1, 3)


def colors(layers, kernels, limits, cloud, index, points, distances):
    """rgb [r,3] on white.

    `layers` are three pairs of weight and bias, whose type products have; `kernels` radii and bandwidths, `limits` the
    far end of the rays and the distance beyond which it is empty, `cloud` positions and features, `index` [r * s,k] of
    particles.
    """
    (positions, features), (far, empty_radius) = cloud, limits
    radii, bandwidths = (values.view(1, -1, 1) for values in kernels)
    distance = (points[:, None] - positions[index]).square().sum(2).clamp_min(1e-20).sqrt()
    weights = torch.exp(-((distance[:, None] - radii) / bandwidths).square())
    mass = weights.sum(2)
    sums = torch.matmul(weights, features[index]) / (mass[:, :, None] + MASS_FLOOR)
    x = torch.cat([sums.flatten(1), LOG_MASS_SCALE * torch.log(mass + MASS_FLOOR)], 1).to(layers[0][0].dtype)
    for weight, bias in layers[:2]:
        x = torch.relu(functional.linear(x, weight, bias))
    logits = functional.linear(x, *layers[2]).to(distances.dtype).view(*distances.shape, 4)
    occupied = (distance.amin(1) <= empty_radius).view(distances.shape)
    deltas = torch.cat([distances, torch.full_like(distances[:, :1], far)], 1).diff(dim=1)
    depth = (functional.softplus(logits[..., 0], threshold=50) * occupied * deltas).cumsum(1)
    after = torch.exp(-depth)
    before = torch.cat([torch.ones_like(after[:, :1]), after[:, :-1]], 1)
    return ((before - after)[..., None] * torch.sigmoid(logits[..., 1:])).sum(1) + after[:, -1:]
