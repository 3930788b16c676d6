#include "server/models/engine_impl.h"

#include "server/models/warm_up.h"

namespace interlacer {

StatusOr<std::unique_ptr<Engine>> EngineImpl::Load(const std::string& model_name,
                                                   const std::string& checkpoint_dir,
                                                   DeviceRequest device) {
  INTERLACER_ASSIGN_OR_RETURN(std::unique_ptr<Predictor> predictor,
                              Predictor::Load(checkpoint_dir, {model_name, device}));
  return std::unique_ptr<Engine>(new EngineImpl(std::move(predictor), checkpoint_dir));
}

EngineImpl::EngineImpl(std::unique_ptr<Predictor> predictor, std::string checkpoint_dir)
    : predictor_(std::move(predictor)),
      checkpoint_dir_(std::move(checkpoint_dir)),
      metadata_(predictor_->metadata()) {}

std::vector<std::string> EngineImpl::features() const {
  std::vector<std::string> features = {"renderer"};
  if (metadata_.accepts_joint_positions) features.push_back("forward_kinematics");
  if (device_name().starts_with("cuda")) features.push_back("cuda");
  return features;
}

Status EngineImpl::WarmUp(std::stop_token stop) {
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpScene scene, ReadWarmUpScene(checkpoint_dir_, metadata_));
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpResult result, RunWarmUp(scene, stop, predictor_.get()));
  metadata_.ingest_cost_s = result.ingest_cost_s;
  metadata_.step_cost_s = result.step_cost_s;
  metadata_.render_cost_s = result.render_cost_s;
  return CheckWarmUp(scene, result);
}

Status RecordWarmUpOf(const std::string& model_name, const std::string& checkpoint_dir,
                      DeviceRequest device) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                              Predictor::Load(checkpoint_dir, {model_name, device}));
  return RecordWarmUp(checkpoint_dir, predictor.get());
}

EngineFactory MakeEngineFactory(std::string model_name, std::string checkpoint_dir,
                                DeviceRequest device) {
  return [name = std::move(model_name), dir = std::move(checkpoint_dir), device] {
    return EngineImpl::Load(name, dir, device);
  };
}

}  // namespace interlacer
