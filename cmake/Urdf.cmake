# interlacer::urdfdom and interlacer::assimp, which read robot descriptions. By hand: the packages' own CMake files ask for
# what only static linking needs.

find_path(URDFDOM_INCLUDE_DIR urdf_parser/urdf_parser.h REQUIRED)
find_library(URDFDOM_LIBRARY urdfdom_model REQUIRED)
find_library(CONSOLE_BRIDGE_LIBRARY console_bridge REQUIRED)
find_path(ASSIMP_INCLUDE_DIR assimp/Importer.hpp REQUIRED)
find_library(ASSIMP_LIBRARY assimp REQUIRED)
mark_as_advanced(URDFDOM_INCLUDE_DIR URDFDOM_LIBRARY CONSOLE_BRIDGE_LIBRARY ASSIMP_INCLUDE_DIR ASSIMP_LIBRARY)

add_library(interlacer::urdfdom UNKNOWN IMPORTED GLOBAL)
set_target_properties(interlacer::urdfdom PROPERTIES
  IMPORTED_LOCATION "${URDFDOM_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${URDFDOM_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "${CONSOLE_BRIDGE_LIBRARY}")
add_library(interlacer::assimp UNKNOWN IMPORTED GLOBAL)
set_target_properties(interlacer::assimp PROPERTIES
  IMPORTED_LOCATION "${ASSIMP_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${ASSIMP_INCLUDE_DIR}")
