#include "model/attention/registry.h"

#include "model/attention/grf.h"
#include "model/attention/library_attention.h"
#include "model/attention/linear.h"
#include "model/attention/message_passing.h"

namespace interlacer {

std::shared_ptr<AttentionMechanism> MakeGlobalMechanism(const NetworkConfig& config,
                                                        Precision precision) {
  if (config.global.mechanism) {
    return std::make_shared<LibraryAttention>(config, LayerPlace::kGlobal, precision);
  }
  return std::make_shared<LinearReluAttention>(config, config.global.head_count, precision);
}

std::shared_ptr<AttentionMechanism> MakeLocalMechanism(const NetworkConfig& config,
                                                       Precision precision) {
  switch (config.local.kind) {
    case LocalLayer::kGrfExact:
    case LocalLayer::kGrfSampled:
      return std::make_shared<GrfMaskedAttention>(config, precision);
    case LocalLayer::kMessagePassing:
      return std::make_shared<MessagePassing>(config, precision);
    case LocalLayer::kUnmasked:
      return std::make_shared<LinearReluAttention>(config, /*head_count=*/1, precision);
    case LocalLayer::kMechanism:
      return std::make_shared<LibraryAttention>(config, LayerPlace::kLocal, precision);
    case LocalLayer::kNone:
      return nullptr;
  }
  return nullptr;
}

}  // namespace interlacer
