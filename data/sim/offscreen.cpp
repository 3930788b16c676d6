#include "data/sim/offscreen.h"

#include <GL/osmesa.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>

#include "data/sim/mjcf.h"

namespace interlacer::sim {
namespace {

constexpr int kMaxGeoms = 2000;
constexpr int kDepthBits = 24;
constexpr int kStencilBits = 8;
constexpr double kDepthUnitM = 1e-4;
constexpr double kMaxDepthM = 6.5;

/// Held around whatever draws: contexts of different threads share one screen, and when one waits
/// for a buffer, Mesa 22.3 looks without a lock through what the others draw, which crashes once in
/// some hundred episodes.
std::mutex& Drawing() {
  static std::mutex mutex;
  return mutex;
}

/// One OSMesa context per thread for the lifetime of the thread: later episodes reuse what it
/// compiled for the first, which saves each a tenth of a second.
class ThreadContext {
 public:
  ThreadContext() : drawing_(Drawing()) {
    const std::lock_guard lock(drawing_);
    gl_ = OSMesaCreateContextExt(OSMESA_RGBA, kDepthBits, kStencilBits, 0, nullptr);
  }
  ~ThreadContext() {
    const std::lock_guard lock(drawing_);
    if (gl_ != nullptr) OSMesaDestroyContext(gl_);
  }
  ThreadContext(const ThreadContext&) = delete;
  ThreadContext& operator=(const ThreadContext&) = delete;
  OSMesaContext gl() const { return gl_; }

 private:
  std::mutex& drawing_;  // made before the context, so that it outlives it
  OSMesaContext gl_ = nullptr;
};

OSMesaContext ContextOfThread() {
  static thread_local const ThreadContext context;
  return context.gl();
}

/// Label of every geom of the model.
std::vector<std::uint8_t> LabelGeoms(const World& world) {
  const mjModel* const model = world.model();
  std::vector<std::uint8_t> label(model->ngeom, kMaskRoom);
  for (int geom = 0; geom < model->ngeom; ++geom) {
    const int body = model->geom_bodyid[geom];
    const char* const geom_name = mj_id2name(model, mjOBJ_GEOM, geom);
    if (geom_name != nullptr && std::string_view(geom_name) == kTableGeomName) {
      label[geom] = kMaskTable;
    } else if (world.ArmOfBody(body) >= 0) {
      label[geom] = static_cast<std::uint8_t>(kMaskLeftArm + world.ArmOfBody(body));
    } else if (world.ObjectOfBody(body) >= 0) {
      label[geom] = static_cast<std::uint8_t>(kMaskFirstObject + world.ObjectOfBody(body));
    }
  }
  return label;
}

}  // namespace

struct OffscreenRenderer::State {
  const World* world = nullptr;
  int width_px = 0;
  int height_px = 0;
  OSMesaContext gl = nullptr;
  std::vector<std::uint8_t>
      surface;  // what OSMesa calls the window; pictures go to MuJoCo's buffer
  mjvScene scene{};
  mjvOption option{};
  mjrContext context{};
  bool has_context = false;
  std::vector<std::uint8_t> label_of_geom;

  ~State() {
    if (has_context) {
      const std::lock_guard lock(Drawing());
      MakeCurrent();
      mjr_freeContext(&context);
      mjv_freeScene(&scene);
    }
  }

  bool MakeCurrent() {
    return OSMesaMakeCurrent(gl, surface.data(), GL_UNSIGNED_BYTE, width_px, height_px) == GL_TRUE;
  }

  void Draw(int camera, bool labels) {
    mjvCamera view;
    mjv_defaultCamera(&view);
    view.type = mjCAMERA_FIXED;
    view.fixedcamid = camera;
    mjv_updateScene(world->model(), world->data(), &option, nullptr, &view, mjCAT_ALL, &scene);
    scene.flags[mjRND_SHADOW] = labels ? 0 : 1;
    scene.flags[mjRND_REFLECTION] = 0;
    scene.flags[mjRND_HAZE] = 0;
    scene.flags[mjRND_SEGMENT] = scene.flags[mjRND_IDCOLOR] = labels ? 1 : 0;
    mjr_render({0, 0, width_px, height_px}, &scene, &context);
  }
};

OffscreenRenderer::OffscreenRenderer(std::unique_ptr<State> state) : state_(std::move(state)) {}
OffscreenRenderer::OffscreenRenderer(OffscreenRenderer&&) noexcept = default;
OffscreenRenderer& OffscreenRenderer::operator=(OffscreenRenderer&&) noexcept = default;
OffscreenRenderer::~OffscreenRenderer() = default;

StatusOr<OffscreenRenderer> OffscreenRenderer::Create(const World& world, int width_px,
                                                      int height_px) {
  auto state = std::make_unique<State>();
  state->world = &world;
  state->width_px = width_px;
  state->height_px = height_px;
  state->surface.resize(std::size_t{4} * width_px * height_px);
  state->gl = ContextOfThread();
  const std::lock_guard lock(Drawing());
  if (state->gl == nullptr || !state->MakeCurrent()) {
    return Internal("no OSMesa off-screen context of " + std::to_string(width_px) + "x" +
                    std::to_string(height_px));
  }
  mjv_defaultScene(&state->scene);
  mjv_makeScene(world.model(), &state->scene, kMaxGeoms);
  mjv_defaultOption(&state->option);
  mjr_defaultContext(&state->context);
  mjr_makeContext(world.model(), &state->context, mjFONTSCALE_100);
  state->has_context = true;
  mjr_setBuffer(mjFB_OFFSCREEN, &state->context);
  if (state->context.currentBuffer != mjFB_OFFSCREEN) {
    return Internal("the OSMesa context has no off-screen buffer");
  }
  state->context.readDepthMap = mjDEPTH_ZEROFAR;  // as drawn: keeps the precision of distant points
  state->label_of_geom = LabelGeoms(world);
  return OffscreenRenderer(std::move(state));
}

SimulatedView OffscreenRenderer::Render(int camera) {
  State& s = *state_;
  const int width = s.width_px;
  const int height = s.height_px;
  const std::size_t pixel_count = std::size_t(width) * height;
  const mjrRect viewport = {0, 0, width, height};

  std::vector<std::uint8_t> color(3 * pixel_count);
  std::vector<float> buffer_depth(pixel_count);
  std::vector<std::uint8_t> ids(3 * pixel_count);
  {
    const std::lock_guard lock(Drawing());
    s.MakeCurrent();
    s.Draw(camera, false);
    mjr_readPixels(color.data(), buffer_depth.data(), viewport, &s.context);
    s.Draw(camera, true);
    mjr_readPixels(ids.data(), nullptr, viewport, &s.context);
  }

  // Reversed depth buffer b of a perspective frustum: z = near far / (near + b (far - near)).
  const mjModel* const model = s.world->model();
  const double near = model->vis.map.znear * model->stat.extent;
  const double far = model->vis.map.zfar * model->stat.extent;

  SimulatedView view;
  view.color = {width, height, std::vector<std::uint8_t>(3 * pixel_count)};
  view.depth = {width, height, kDepthUnitM, std::vector<std::uint16_t>(pixel_count)};
  view.mask.resize(pixel_count);
  for (int row = 0; row < height; ++row) {
    const std::size_t from =
        std::size_t(height - 1 - row) * width;  // OpenGL's row 0 is at the bottom
    const std::size_t to = std::size_t(row) * width;
    std::copy_n(color.begin() + 3 * from, 3 * width, view.color.pixels.begin() + 3 * to);
    for (int column = 0; column < width; ++column) {
      const double b = buffer_depth[from + column];
      const double z_m = near * far / (near + b * (far - near));
      view.depth.pixels[to + column] =
          z_m > kMaxDepthM ? 0 : static_cast<std::uint16_t>(std::lround(z_m / kDepthUnitM));
      const std::uint8_t* const id = ids.data() + 3 * (from + column);
      const int segment = id[0] + 256 * id[1] + 65536 * id[2] - 1;
      if (segment < 0 || segment >= s.scene.ngeom) continue;
      const mjvGeom& geom = s.scene.geoms[segment];
      if (geom.objtype == mjOBJ_GEOM) view.mask[to + column] = s.label_of_geom[geom.objid];
    }
  }
  return view;
}

}  // namespace interlacer::sim
