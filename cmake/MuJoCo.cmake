# interlacer::mujoco from the unpacked PyPI wheel, interlacer::osmesa to draw without a display, and where the robot
# models lie (INTERLACER_ROBOT_ASSETS).

set(INTERLACER_MUJOCO_VERSION 3.3.7)
set(mujoco_root "${INTERLACER_CACHE}/mujoco")
set(mujoco_library "${mujoco_root}/libmujoco.so.${INTERLACER_MUJOCO_VERSION}")
if(NOT EXISTS "${mujoco_library}")
  message(FATAL_ERROR "MuJoCo: expected ${mujoco_library}; run scripts/setup or set INTERLACER_CACHE")
endif()
add_library(interlacer::mujoco SHARED IMPORTED GLOBAL)
set_target_properties(interlacer::mujoco PROPERTIES
  IMPORTED_LOCATION "${mujoco_library}"
  IMPORTED_SONAME "libmujoco.so.${INTERLACER_MUJOCO_VERSION}")
target_include_directories(interlacer::mujoco SYSTEM INTERFACE "${mujoco_root}/include")

find_path(OSMESA_INCLUDE_DIR GL/osmesa.h REQUIRED)
find_library(OSMESA_LIBRARY OSMesa REQUIRED)
mark_as_advanced(OSMESA_INCLUDE_DIR OSMESA_LIBRARY)
add_library(interlacer::osmesa UNKNOWN IMPORTED GLOBAL)
set_target_properties(interlacer::osmesa PROPERTIES
  IMPORTED_LOCATION "${OSMESA_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${OSMESA_INCLUDE_DIR}")

set(INTERLACER_ROBOT_ASSETS "${INTERLACER_CACHE}/robosuite_assets" CACHE PATH "Robot and object models of the simulator")
