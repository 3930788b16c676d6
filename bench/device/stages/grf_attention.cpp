/// Walk-masked local attention on the device, forward or --backward, against LibTorch's operations
/// on the same merged lists: float32 rows as they are, or bfloat16 rows packed for inference.

#include <array>
#include <memory>
#include <utility>

#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/grf_problem.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "knn/walk_lists.h"
#include "model/kernels/grf_attention_cuda.h"
#include "model/kernels/packed_grf_cuda.h"
#include "tests/device/packed_rows.h"

namespace interlacer::bench {
namespace {

constexpr double kFloatBound = 1e-5;
constexpr double kGradientBound = 1e-3;
constexpr double kBfloat16Bound = 1e-2;

/// One form of the attention: its launch and its results.
class Form {
 public:
  virtual ~Form() = default;
  virtual CudaError Run(cudaStream_t on) const = 0;
  virtual std::vector<float> Result() const = 0;
  virtual void PoisonResult() const = 0;
};

class FloatForward : public Form {
 public:
  explicit FloatForward(const GrfProblem& host) : shape_(host.shape()), device_(host) {}
  CudaError Run(cudaStream_t on) const override {
    return LaunchGrfForward(shape_, device_.pairs(), device_.inputs(), {}, device_.out.get(),
                            device_.normalizer.get(), on);
  }
  std::vector<float> Result() const override { return device_.out.Read(); }
  void PoisonResult() const override { device_.out.Poison(); }

 private:
  GrfShape shape_;
  GrfDeviceProblem device_;
};

class FloatBackward : public Form {
 public:
  explicit FloatBackward(const GrfProblem& host)
      : FloatBackward(host, Transpose(host.walks.lists)) {}
  CudaError Run(cudaStream_t on) const override {
    return LaunchGrfBackward(
        shape_, device_.pairs(), {offsets_.get(), roots_.get(), entry_index_.get()}, pair_count_,
        device_.inputs(), {device_.out.get(), device_.normalizer.get(), grad_out_.get()}, {},
        {gradients_[0].get(), gradients_[1].get(), gradients_[2].get(), gradients_[3].get()},
        scratch_.get(), on);
  }
  std::vector<float> Result() const override {
    std::vector<float> all;
    for (const DeviceArray<float>& gradient : gradients_) {
      for (const float value : gradient.Read()) all.push_back(value);
    }
    return all;
  }
  void PoisonResult() const override {
    for (const DeviceArray<float>& gradient : gradients_) gradient.Poison();
  }

 private:
  FloatBackward(const GrfProblem& host, const TransposedLists& transposed)
      : shape_(host.shape()),
        device_(host),
        pair_count_(static_cast<std::int64_t>(transposed.roots.size())),
        offsets_(device_.stream, transposed.offsets),
        roots_(device_.stream, transposed.roots),
        entry_index_(device_.stream, transposed.entry_index),
        grad_out_(device_.stream, host.grad_out),
        scratch_(device_.stream, GrfCudaBackwardScratchCount(host.n(), pair_count_)),
        gradients_{DeviceArray<float>(device_.stream, host.n() * host.width),
                   DeviceArray<float>(device_.stream, host.n() * host.width),
                   DeviceArray<float>(device_.stream, host.n() * host.width),
                   DeviceArray<float>(device_.stream, 256)} {
    RunOnce(device_.stream, [&](cudaStream_t on) {
      return LaunchGrfForward(shape_, device_.pairs(), device_.inputs(), {}, device_.out.get(),
                              device_.normalizer.get(), on);
    });
  }

  GrfShape shape_;
  GrfDeviceProblem device_;
  std::int64_t pair_count_;
  DeviceArray<std::int32_t> offsets_, roots_, entry_index_;
  DeviceArray<float> grad_out_, scratch_;
  std::array<DeviceArray<float>, 4> gradients_;
};

/// bfloat16 rows, with keys and values packed before: the projections of a layer write them so.
class PackedForward : public Form {
 public:
  explicit PackedForward(const GrfProblem& host)
      : shape_{host.n(), host.width, 0, host.n()},
        device_(host),
        q_(device_.stream, ToBfloat16(host.q)),
        packed_(device_.stream,
                PackedGrfRows(ToBfloat16(host.k), ToBfloat16(host.v), GrfEpsilons().feature)),
        out_(device_.stream, host.n() * host.width) {}
  CudaError Run(cudaStream_t on) const override {
    const PackedGrfInputs inputs{q_.get(), packed_.get()};
    const PackedGrfOutputs outputs{out_.get(), device_.normalizer.get()};
    return LaunchPackedGrf(shape_, device_.pairs(), inputs, {}, outputs, on);
  }
  std::vector<float> Result() const override { return FromBfloat16(out_.Read()); }
  void PoisonResult() const override { out_.Poison(); }

 private:
  PackedGrfShape shape_;
  GrfDeviceProblem device_;
  DeviceArray<std::uint16_t> q_, packed_, out_;
};

const char* NameOf(const Options& options) {
  return options.backward         ? "backward_cuda"
         : options.dtype == "f32" ? "gather_cuda"
                                  : "packed_cuda";
}

std::unique_ptr<Form> MakeForm(const GrfProblem& host, const Options& options) {
  if (options.backward) return std::make_unique<FloatBackward>(host);
  if (options.dtype == "f32") return std::make_unique<FloatForward>(host);
  return std::make_unique<PackedForward>(host);
}

std::vector<double> Expected(const GrfProblem& host, const Options& options) {
  return options.backward ? host.Backward() : host.Forward(options.dtype == "bf16").out;
}

double Bound(const Options& options) {
  if (options.dtype == "bf16") return kBfloat16Bound;
  return options.backward ? kGradientBound : kFloatBound;
}

PythonPeers StartPeers(const GrfProblem& host, const Options& options) {
  return {"grf_torch.py", options, [&](ChildPeer* child) {
            const std::int64_t n = host.n();
            for (const auto& [name, values] : {std::pair{"q", &host.q},
                                               {"k", &host.k},
                                               {"v", &host.v},
                                               {"grad_out", &host.grad_out}}) {
              child->Load(name, *values, {n, host.width});
            }
            const WalkLists& lists = host.walks.lists;
            const std::vector<std::int32_t> words(lists.entries.begin(), lists.entries.end());
            child->Load("offsets", std::span(lists.offsets), {n + 1});
            child->Load("entries", std::span(words), {static_cast<std::int64_t>(words.size())});
            child->Load("table", host.table, {256});
            const std::int32_t flags[2] = {options.dtype == "bf16", options.backward};
            child->Load("flags", std::span(flags), {2});
          }};
}

}  // namespace

std::vector<Case> MakeDeviceGrfAttentionCases(const Options& options) {
  if (options.backward && options.dtype != "f32") {
    throw UsageError("--dtype: the backward pass computes in f32, got " + options.dtype);
  }
  const auto host = std::make_shared<const GrfProblem>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host, options] { return std::make_unique<std::vector<double>>(Expected(*host, options)); });
  const PythonPeers peers = StartPeers(*host, options);
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); },
      Bound(options)};
  const auto form = OnFirstUse<Form>([host, options] { return MakeForm(*host, options); });
  const auto launch = [form]() -> Launch {
    return [&ours = form()](cudaStream_t on) { return ours.Run(on); };
  };
  const std::string name = NameOf(options);
  Case base = GrfAttentionCase("grf_attention/cuda/" + name + "/", options,
                               static_cast<std::int64_t>(host->walks.lists.entries.size()));
  base.ours = name;
  base.gate = Once([form, launch, expected, options] {
    RunReplayed(launch(), [&] { form().PoisonResult(); });
    GateResult gate;
    gate.error = RelativeL2(form().Result(), expected());
    gate.error_bound = Bound(options);
    gate.reference = "CPU twin float64";
    return gate;
  });
  base.run_ours = GraphWork(launch, options);
  std::vector<Case> cases{peers.Against(base, "torch_eager", check, options.backward ? 8 : 10)};
  if (!options.backward) {
    cases.push_back(peers.Against(base, "torch_compile", check, 3));
    cases.push_back(peers.Against(base, "torch_eager_graph", check));
  }
  cases.push_back(
      peers.Against(base, "pyg", check, options.backward ? std::optional<double>() : 8));
  return cases;
}

}  // namespace interlacer::bench
