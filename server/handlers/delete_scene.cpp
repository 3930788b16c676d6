#include "server/handlers/delete_scene.h"

namespace interlacer {

StatusOr<wire::DeleteSceneResponse> DeleteScene(const ServerContext& server,
                                                const wire::DeleteSceneRequest& request) {
  server.scenes.Delete(request.scene_id());
  return wire::DeleteSceneResponse();
}

}  // namespace interlacer
