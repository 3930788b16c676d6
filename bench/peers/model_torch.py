"""The dynamics step in torch, as one would write it first; the same as bench/peers/eager_model.h with merged walks.

`arrays` are those of bench/device/model/model_peers.h.
"""

import math

import torch_peers

torch = torch_peers.torch
functional = torch.nn.functional

TIMES = 3  # of the robot in a step


def weights_of(arrays):
    return {name[2:]: value for name, value in arrays.items() if name.startswith("w.")}


def walks_of(arrays, step):
    """roots, ends [m]; loads [m,4]."""
    return arrays[f"roots.{step}"].long(), arrays[f"ends.{step}"].long(), arrays[f"loads.{step}"]


def one_hot(count, which, of, like):
    row = like.new_zeros(1, of)
    row[0, which].fill_(1)  # an assignment would copy from the host, which a CUDA graph cannot record
    return row.expand(count, of)


def concatenated_change(newer, result):
    """What a step changes, [n, 3 + features] as one row."""
    return torch.cat([after - before for before, after in zip(newer, result)], 1).flatten()


class Model:
    """Weights by name; dense layers of the blocks in `dense`, the rest in float32."""

    def __init__(self, arrays, weights, dense=torch.float32):
        numbers = arrays["numbers"].tolist()
        self.octaves, self.blocks, self.heads = (int(number) for number in numbers[:3])
        self.max_displacement_m, self.feature_epsilon, self.normalizer_epsilon = numbers[3:6]
        self.half_extent = numbers[6]
        self.center = arrays["numbers"][7:10].clone()
        self.motions = arrays["older.motion"], arrays["newer.motion"]
        self.weights, self.dense = weights, dense
        if dense != torch.float32:
            self.weights = {name: value.to(dense) if self._is_dense(name) else value for name, value in weights.items()}

    @staticmethod
    def _is_dense(name):
        return name.startswith("interlacer.") and "norm" not in name and not name.endswith("hop_coefficients")

    def linear(self, name, x):
        weight, bias = self.weights[name + ".weight"], self.weights[name + ".bias"]
        return functional.linear(x.to(weight.dtype), weight, bias)

    def norm(self, name, x):
        return functional.layer_norm(x, x.shape[1:], self.weights[name + ".scale"], self.weights[name + ".bias"], 1e-5)

    def feed_forward(self, name, x):
        return self.linear(name + ".out", functional.gelu(self.linear(name + ".in", x))).float()

    def place(self, positions):
        p = (positions - self.center) / self.half_extent
        parts = [p]
        for octave in range(self.octaves):
            angle = p * (math.pi * 2**octave)
            parts += [angle.sin(), angle.cos()]
        return torch.cat(parts, 1)

    def tokens(self, older, newer, points, attributes):
        rows = []
        for time, (positions, features) in enumerate((older, newer)):
            rows.append(torch.cat([features, self.motions[time], self.place(positions),
                                   one_hot(positions.shape[0], time, 2, positions)], 1))
        robot = [torch.cat([attributes[time], self.place(points[time]), one_hot(points.shape[1], time, TIMES, points)], 1)
                 for time in range(TIMES)]
        return torch.cat([self.linear("tokens.visual", torch.cat(rows)), self.linear("tokens.kinematic", torch.cat(robot))])

    def feature(self, x):
        return torch.relu(x) + self.feature_epsilon

    def linear_attention(self, q, k, v):
        tokens, width = q.shape
        by_head = lambda x: x.view(tokens, self.heads, -1).transpose(0, 1)
        query, key, value = by_head(self.feature(q)), by_head(self.feature(k)), by_head(v)
        state = key.transpose(1, 2) @ value / tokens
        out = (query @ state) / (query @ key.mean(1)[:, :, None] + self.normalizer_epsilon)
        return out.transpose(0, 1).reshape(tokens, width)

    def local_attention(self, q, k, v, walks, coefficients):
        roots, ends, loads = walks
        scores = (self.feature(q)[roots] * self.feature(k)[ends]).sum(1, keepdim=True)
        scores = scores * (loads @ coefficients.abs())[:, None]
        sums = torch.zeros_like(v).index_add(0, roots, scores * v[ends])
        return sums / (v.new_zeros(v.shape[0], 1).index_add(0, roots, scores) + self.normalizer_epsilon)

    def attention(self, name, x, attend):
        q, k, v = (self.linear(f"{name}.{part}", x).float() for part in ("query", "key", "value"))
        return self.linear(name + ".out", attend(q, k, v)).float()

    def block(self, name, h, walks):
        coefficients = self.weights[name + ".local.hop_coefficients"]
        h = h + self.attention(name + ".global", self.norm(name + ".global_norm", h), self.linear_attention)
        h = h + self.feed_forward(name + ".global_ffn", self.norm(name + ".global_ffn_norm", h))
        h = h + self.attention(name + ".local", self.norm(name + ".local_norm", h),
                               lambda q, k, v: self.local_attention(q, k, v, walks, coefficients))
        return h + self.feed_forward(name + ".local_ffn", self.norm(name + ".local_ffn_norm", h))

    def head(self, h, older, newer):
        h = self.norm("interlacer.last_norm", h)[older[0].shape[0]:][:newer[0].shape[0]]
        moved = torch.tanh(self.linear("head.position", self.norm("head.position_norm", h)))
        changed = self.linear("head.feature", self.norm("head.feature_norm", h))
        return newer[0] + self.max_displacement_m * moved, newer[1] + changed

    def step(self, older, newer, points, attributes, walks):
        """Clouds as (positions, features)."""
        h = self.tokens(older, newer, points, attributes)
        for block in range(self.blocks):
            h = self.block(f"interlacer.block{block}", h, walks)
        return self.head(h, older, newer)
