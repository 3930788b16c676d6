#include "evaluation/step_evaluator.h"

#include <utility>

#include "common/transforms.h"
#include "evaluation/geometry_scores.h"
#include "evaluation/spread_scores.h"
#include "render/particle_preview.h"

namespace interlacer {
namespace {

/// What a model or an episode cannot do, as against a call that went wrong.
bool IsRefusal(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
    case StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

const DepthImage* DepthOf(const DepthImage& depth) {
  return depth.pixels_m.empty() ? nullptr : &depth;
}

/// Z-buffer of particles whose colours do not matter.
StatusOr<DepthImage> ZBuffer(const Camera& camera, std::span<const float> positions_m) {
  const std::vector<std::uint8_t> colors(positions_m.size(), 0);
  INTERLACER_ASSIGN_OR_RETURN(ParticlePreview preview,
                              RenderParticlePreview(camera, positions_m, colors));
  return std::move(preview.depth);
}

}  // namespace

StepEvaluator::StepEvaluator(const EpisodeReader& episode, const PredictionTask& task,
                             const ModelMetadata& metadata, RolloutBackend* backend)
    : episode_(episode),
      task_(task),
      metadata_(metadata),
      backend_(backend),
      subjects_(task.request.subjects.empty() ? SubjectsOfOneRollout() : task.request.subjects) {}

bool StepEvaluator::Wants(std::string_view subject) const { return Contains(subjects_, subject); }

Status StepEvaluator::AddBaseline(std::string_view subject, StatusOr<Baseline> baseline) {
  if (baseline.ok()) {
    baselines_.emplace(subject, *std::move(baseline));
    return Status::Ok();
  }
  if (baseline.status().reason() != reason::ACTION_KIND) return baseline.status();
  absences_[subject] = baseline.status().message();
  return Status::Ok();
}

Status StepEvaluator::PrepareBaselines() {
  const bool has_baseline = Wants(kKinematicSubject) || Wants(kContact) || Wants(kOracleMotion);
  if (!has_baseline && !task_.is_static) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(pixels_, CarriedPixels::Make(task_));
  if (Wants(kKinematicSubject)) {
    INTERLACER_RETURN_IF_ERROR(
        AddBaseline(kKinematicSubject, KinematicBaseline(episode_, task_, *pixels_)));
  }
  // What was recorded is not what other actions would have done.
  if (!Wants(kOracleMotion) || !simulation_ || task_.has_own_actions) return Status::Ok();
  return AddBaseline(kOracleMotion, OracleMotionBaseline(episode_, task_, *simulation_, *pixels_));
}

Status StepEvaluator::AddContact() {
  StatusOr<BodyMotion> commanded = CommandedMotion(episode_, task_);
  if (!commanded.ok()) return AddBaseline(kContact, commanded.status());
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<float> seen_m, SeenByContact(task_, start_m_));
  const ContactMotion contact = FollowContacts(*std::move(commanded), seen_m);
  INTERLACER_RETURN_IF_ERROR(AddBaseline(kContact, ContactBaseline(contact, seen_m, *pixels_)));
  particle_bodies_[kContact] = BodiesOfParticles(contact, seen_m, start_m_);
  return Status::Ok();
}

Status StepEvaluator::PrepareAskedViews(const std::stop_token& stop) {
  if (backend_ == nullptr) return Status::Ok();
  for (const std::string_view subject : kSubjects) {
    if (!AsksForViews(subject) || !Wants(subject)) continue;
    if (subject == kModelField && task_.output.render_mode == RenderMode::kField) continue;
    if (subject == kKinematicField) {
      const StatusOr<BodyMotion> motion = CommandedMotion(episode_, task_);
      if (!motion.ok()) absences_[subject] = motion.status().message();
      // Where there is no robot nothing moves, and the model's own view is the same.
      if (!motion.ok() || motion->robot == nullptr) continue;
    }
    StatusOr<AskedViews> views = AskForViews(subject, episode_, task_, backend_, stop);
    if (views.ok()) {
      asked_.emplace(subject, *std::move(views));
    } else if (IsRefusal(views.status())) {
      absences_[subject] = views.status().message();
    } else {
      return views.status();
    }
  }
  return Status::Ok();
}

Status StepEvaluator::Prepare(const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(simulation_, SimulationTruth::Open(episode_));
  if (simulation_) {
    INTERLACER_ASSIGN_OR_RETURN(true_motion_, TrueMotion(episode_, task_, *simulation_));
  }
  INTERLACER_RETURN_IF_ERROR(PrepareBaselines());
  return PrepareAskedViews(stop);
}

StatusOr<const TrueFrame*> StepEvaluator::NewestObserved(const TargetView& target) {
  if (!target.is_input || task_.is_static) return nullptr;
  auto found = newest_observed_.find(target.name);
  if (found == newest_observed_.end()) {
    INTERLACER_ASSIGN_OR_RETURN(std::optional<TrueFrame> newest,
                                ReadTrueFrame(episode_, task_, target, 0));
    found = newest_observed_.emplace(target.name, *std::move(newest)).first;
  }
  return &found->second;
}

StatusOr<const std::vector<std::uint8_t>*> StepEvaluator::Carried(const TargetView& target,
                                                                  const Camera& camera) {
  if (target.is_input || !task_.is_static) return nullptr;
  auto found = carried_.find(target.name);
  if (found == carried_.end()) {
    INTERLACER_ASSIGN_OR_RETURN(std::vector<std::uint8_t> reached, pixels_->Reached(camera, task_));
    found = carried_.emplace(target.name, std::move(reached)).first;
  }
  return &found->second;
}

Status StepEvaluator::StartParticles(const PredictedStep& step) {
  start_m_ = step.positions_m;
  if (backend_ == nullptr) {
    INTERLACER_ASSIGN_OR_RETURN(start_m_, DrawnParticles(task_, metadata_));
  }
  if (Wants(kContact)) INTERLACER_RETURN_IF_ERROR(AddContact());
  if (start_m_.empty()) return Status::Ok();
  if (const auto kinematic = baselines_.find(kKinematicSubject); kinematic != baselines_.end()) {
    particle_bodies_[kKinematicSubject] = BodiesOfRobot(kinematic->second.motion, start_m_);
  }
  if (!simulation_) return Status::Ok();
  true_bodies_.assign(start_m_.size() / 3, kUnknownMotion);
  for (std::size_t i = 0; i < task_.targets.size(); ++i) {
    TargetView target = task_.targets[i];
    if (!target.is_input || task_.is_static) continue;
    // Particles are pixels of what the model saw, whatever the size of the pictures is.
    target.width_px = metadata_.cameras[i].width_px;
    target.height_px = metadata_.cameras[i].height_px;
    INTERLACER_ASSIGN_OR_RETURN(const auto newest, ReadTrueFrame(episode_, task_, target, 0));
    INTERLACER_ASSIGN_OR_RETURN(
        TrackedParticles tracked,
        TrackedParticles::Start(*simulation_, true_motion_, task_, target, *newest, start_m_));
    moved_.merge(tracked.MovedObjects());
    for (std::size_t k = 0; k < true_bodies_.size(); ++k) {
      if (true_bodies_[k] == kUnknownMotion) true_bodies_[k] = tracked.bodies()[k];
    }
    tracked_.emplace(target.name, std::move(tracked));
  }
  if (baselines_.contains(kOracleMotion)) particle_bodies_[kOracleMotion] = true_bodies_;
  return Status::Ok();
}

std::map<std::string_view, std::vector<float>> StepEvaluator::ParticlesOf(
    const PredictedStep& step) const {
  std::map<std::string_view, std::vector<float>> particles;
  if (start_m_.empty()) return particles;
  if (Wants(kModelSubject) && !step.positions_m.empty())
    particles[kModelSubject] = step.positions_m;
  if (Wants(kCopyLast) && !task_.is_static) particles[kCopyLast] = start_m_;
  for (const auto& [subject, bodies] : particle_bodies_) {
    const Baseline& baseline = baselines_.at(subject);
    if (!baseline.HasStep(step.step)) continue;
    particles[subject] = PositionsAt(baseline.motion, step.step, bodies, start_m_);
  }
  return particles;
}

StatusOr<std::vector<EvaluatedView>> StepEvaluator::Evaluate(const PredictedStep& step) {
  if (step.step == 0) INTERLACER_RETURN_IF_ERROR(StartParticles(step));
  const auto particles = ParticlesOf(step);
  std::vector<EvaluatedView> views;
  for (const TargetView& target : task_.targets) {
    INTERLACER_ASSIGN_OR_RETURN(EvaluatedView view,
                                EvaluateView(target, task_.CameraOf(target), step, particles));
    views.push_back(std::move(view));
  }
  return views;
}

StatusOr<std::vector<StepEvaluator::Shown>> StepEvaluator::ShowView(const TargetView& target,
                                                                    const Camera& camera,
                                                                    const PredictedStep& step) {
  std::vector<Shown> shown;
  const auto add_rendered = [&](std::string_view subject,
                                const std::vector<RenderedView>& views) -> Status {
    const RenderedView* color = FindView(views, target.name);
    if (color == nullptr) {
      return Internal("step " + std::to_string(step.step) + " of " + std::string(subject) +
                      " lacks the view \"" + target.name + "\"");
    }
    const RenderedView* depth = FindView(views, DepthViewName(target));
    shown.push_back({subject, color->color, depth == nullptr ? DepthImage{} : depth->depth});
    return Status::Ok();
  };
  if (step.step == 0 && backend_ != nullptr && Wants(kReconstruction)) {
    INTERLACER_RETURN_IF_ERROR(add_rendered(kReconstruction, step.views));
    reconstructions_[target.name] = std::move(shown.back());
    shown.pop_back();
  }
  for (const std::string_view subject : kSubjects) {
    if (!Wants(subject)) continue;
    if (subject == kModelSubject && backend_ != nullptr) {
      INTERLACER_RETURN_IF_ERROR(add_rendered(subject, step.views));
    } else if (subject == kReconstruction && reconstructions_.contains(target.name)) {
      shown.push_back(reconstructions_[target.name]);
    } else if (subject == kCopyLast) {
      INTERLACER_ASSIGN_OR_RETURN(const TrueFrame* newest, NewestObserved(target));
      if (newest != nullptr) shown.push_back({subject, newest->color, newest->depth});
    } else if (subject == kSplat) {
      INTERLACER_ASSIGN_OR_RETURN(std::optional<ParticlePreview> splat, SplatView(step, camera));
      if (splat) shown.push_back({subject, std::move(splat->color), std::move(splat->depth)});
    } else if (const auto views = asked_.find(subject); views != asked_.end()) {
      const auto at_step = views->second.find(step.step);
      if (at_step == views->second.end()) continue;
      INTERLACER_RETURN_IF_ERROR(add_rendered(subject, at_step->second));
    } else if (const auto found = baselines_.find(subject); found != baselines_.end()) {
      const Baseline& baseline = found->second;
      if (!baseline.HasStep(step.step)) continue;
      INTERLACER_ASSIGN_OR_RETURN(BaselinePicture picture,
                                  pixels_->Draw(camera, baseline, step.step, task_));
      shown.push_back({subject, std::move(picture.color), std::move(picture.depth)});
    }
  }
  return shown;
}

StatusOr<EvaluatedView> StepEvaluator::EvaluateView(
    const TargetView& target, const Camera& camera, const PredictedStep& step,
    const std::map<std::string_view, std::vector<float>>& particles) {
  EvaluatedView view{target.name, target.is_input, step.step, {}, {}, {}};
  INTERLACER_ASSIGN_OR_RETURN(std::optional<TrueFrame> truth,
                              ReadTrueFrame(episode_, task_, target, step.step));
  INTERLACER_ASSIGN_OR_RETURN(std::vector<Shown> shown, ShowView(target, camera, step));
  if (truth) {
    INTERLACER_RETURN_IF_ERROR(ScoreShown(target, *truth, step, shown, particles, &view.scores));
    view.truth = std::move(truth->color);
  }
  for (Shown& one : shown) {
    if (one.subject == kCopyLast || one.subject == kReconstruction) continue;
    view.pictures.emplace_back(one.subject, std::move(one.color));
  }
  return view;
}

StatusOr<std::optional<std::vector<std::uint8_t>>> StepEvaluator::ShowsObject(
    const TargetView& target, int step) const {
  if (!simulation_) return std::optional<std::vector<std::uint8_t>>();
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage mask,
                              simulation_->ReadLabels(task_.EpisodeStep(step), target.name));
  const DepthImage labels = ResizeNearest(mask, target.width_px, target.height_px);
  std::vector<std::uint8_t> shows_object;
  for (const float label : labels.pixels_m) {
    shows_object.push_back(simulation_->Classify(label).kind ==
                           SimulationTruth::PixelKind::kObject);
  }
  return std::optional(std::move(shows_object));
}

Status StepEvaluator::ScoreShown(const TargetView& target, const TrueFrame& truth,
                                 const PredictedStep& step, const std::vector<Shown>& shown,
                                 const std::map<std::string_view, std::vector<float>>& particles,
                                 std::vector<ViewScore>* scores) {
  INTERLACER_ASSIGN_OR_RETURN(const TrueFrame* newest, NewestObserved(target));
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<std::vector<std::uint8_t>> shows_object,
                              ShowsObject(target, step.step));
  std::vector<SubjectView> views;
  for (const Shown& one : shown) views.push_back({one.subject, &one.color, DepthOf(one.depth)});
  MaskSources masks;
  if (newest != nullptr) masks.newest_observed = &newest->color;
  if (shows_object) masks.shows_object = &*shows_object;
  INTERLACER_ASSIGN_OR_RETURN(masks.carried, Carried(target, truth.camera));
  INTERLACER_ASSIGN_OR_RETURN(*scores, ScorePictures(views, truth, task_.region.workspace, masks));
  const auto append = [&](std::vector<ViewScore> more) {
    scores->insert(scores->end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  };

  std::vector<SubjectParticles> seen;
  std::map<std::string_view, DepthImage> z_buffers;
  for (const auto& [subject, positions_m] : particles) {
    INTERLACER_ASSIGN_OR_RETURN(z_buffers[subject], ZBuffer(truth.camera, positions_m));
    seen.push_back({subject, positions_m, &z_buffers[subject]});
  }
  INTERLACER_ASSIGN_OR_RETURN(std::vector<ViewScore> geometry,
                              ScoreGeometry(views, seen, truth, task_.region.workspace));
  append(std::move(geometry));

  if (const auto tracked = tracked_.find(target.name); tracked != tracked_.end()) {
    for (const auto& [subject, positions_m] : particles) {
      append(tracked->second.Score(subject, positions_m, step.step, moved_));
    }
    if (!step.spread_m.empty() && step.step > 0 && tracked->second.HasTruth(step.step)) {
      append(ScoreSpread(kModelSubject, step.spread_m,
                         tracked->second.ErrorsOf(step.positions_m, step.step)));
    }
  }
  for (const auto& [subject, why] : absences_) {
    scores->push_back({std::string(subject), std::string(kSsim), std::nullopt, why});
  }
  return Status::Ok();
}

std::map<std::string, ParticleCensus> StepEvaluator::Censuses() const {
  std::map<std::string, ParticleCensus> censuses;
  for (const auto& [camera, tracked] : tracked_) {
    ParticleCensus& census = censuses[camera];
    census.kinds = tracked.KindsOf(moved_);
    for (const int object : moved_) {
      census.moved_objects.push_back(simulation_->object_names()[static_cast<std::size_t>(object)]);
    }
  }
  return censuses;
}

std::vector<CarriedParticles> StepEvaluator::Carried() const {
  std::vector<CarriedParticles> carried;
  // What was recorded is not what other actions would have done.
  if (!true_bodies_.empty() && !task_.is_static && !task_.has_own_actions) {
    carried.push_back({"truth", true_motion_, true_bodies_});
  }
  if (const auto kinematic = particle_bodies_.find(kKinematicSubject);
      kinematic != particle_bodies_.end()) {
    const BodyMotion& motion = baselines_.at(kKinematicSubject).motion;
    if (motion.robot) carried.push_back({"kinematic", motion, kinematic->second});
  }
  return carried;
}

}  // namespace interlacer
