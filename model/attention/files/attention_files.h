#pragma once

/// Attention by name on arrays in files: what there is, runs and checks, for programs without
/// LibTorch.
///
/// A run reads one safetensors file with q, k, v [B,H,L,*] and what else the mechanism needs, by
/// these names: key_mask, graph.offsets, graph.neighbors, graph.weights, grid, positions, segments,
/// tree.parents, tree.weights, mask, gates (shapes: model/attention/core/inputs.h; grid is int64
/// [D]), parameters.NAME in place of initial ones. It writes out [B,H,L,dv], the parameters that
/// were used as parameters.NAME, and if asked for the mask [1 or H,L,L] or [B,H,L,L] as mask. With
/// grad_out [B,H,L,dv] in the input, the output also has grad.q, grad.k, grad.v and
/// grad.parameters.NAME of sum(out * grad_out). Errors: those of Attention
/// (model/attention/core/attention.h), FindMechanism and TensorFile; INVALID_ARGUMENT
/// SCHEMA_INVALID at the name of a tensor that is not known, ARGUMENT_INVALID at "way", "mask" or
/// "largest_logit".
/// Thread-safety: free functions, safe on distinct paths. Source: safetensors.

#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/status.h"

namespace interlacer::attention {

struct MechanismInfo;

/// [{name, text, cost, source, inputs, dense_up_to, ways, fast_options, fast_ways}], in the order
/// of the catalogue; ways by default options, fast_ways by fast_options, which are those that
/// FastOptions adds to them. dense_up_to: {width_8, width_64} of DenseLengths
/// (model/attention/core/mechanism.h), null where dense is the only way.
nlohmann::ordered_json ListMechanisms();
/// The same of one, with options: [{name, type, default, range, text}].
StatusOr<nlohmann::ordered_json> DescribeMechanism(const std::string& name);

struct AttentionRun {
  std::string mechanism;
  nlohmann::json options = nlohmann::json::object();
  std::string way;  ///< empty: as Attention::Run without a way
  std::string input_path, output_path;
  bool with_mask = false;
  bool with_largest_logit = false;
};
/// {mechanism, options, way, shape, seconds}, way being the one that was used, and if asked for
/// largest_position_logit, of every head (Attention::LargestPositionLogits). The output file
/// appears whole or not at all.
StatusOr<nlohmann::ordered_json> RunAttentionFile(const AttentionRun& run);

struct AttentionCheck {
  std::string mechanism;
  nlohmann::json options = nlohmann::json::object();
  int trials = 20;
  std::uint64_t seed = 0;
};
/// Compares all ways with the dense one in float64 on random inputs: {mechanism, options, trials,
/// tolerance, agree, ways: {WAY: largest relative L2 error}}. agree is null where the dense way is
/// the only one, for nothing was compared, and false for an error that is no number.
StatusOr<nlohmann::ordered_json> CheckMechanism(const AttentionCheck& check);
/// The same of a mechanism that need not be in the catalogue; check.mechanism is not read.
StatusOr<nlohmann::ordered_json> CheckMechanism(const MechanismInfo& mechanism,
                                                const AttentionCheck& check);

struct WalkBound {
  nlohmann::json options = nlohmann::json::object();  ///< of grf_sym
  std::string input_path;                             ///< as of a run
  double error = 0.1;         ///< of an entry of the mask, off the diagonal; above 0
  double probability = 0.05;  ///< of a larger one, or of a row of more entries; in (0,1)
};
/// Theory for grf_sym on the graph of a file: {options, largest_step_load, load_norm, walks,
/// entries}. walks: so many independent walks of a token suffice for error and probability, null
/// where 2^31 do not; entries: of a row of features at most, for the walks of the options.
StatusOr<nlohmann::ordered_json> BoundWalks(const WalkBound& bound);

struct AttentionTiming {
  std::string mechanism;
  nlohmann::json options = nlohmann::json::object();
  std::string way;  ///< empty or auto: the mechanism's own choice at each length
  std::vector<std::int64_t> lengths{1024, 2048, 4096, 8192};  ///< powers of two
  int repeats = 3;
};
/// Least seconds of `repeats` runs at every length, one head, width 8, float32: {mechanism,
/// options, ways, lengths, seconds, exponent}; ways: taken at each length; exponent: slope of the
/// logarithms by least squares. INVALID_ARGUMENT at "lengths" unless they are two or more different
/// powers of two in [2, 2^20].
StatusOr<nlohmann::ordered_json> TimeMechanism(const AttentionTiming& timing);

}  // namespace interlacer::attention
