# cmake -DROOT=<tree> -P include_rules.cmake: refuses includes against the layers, libraries used past their door, and
# folders that the table does not know.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/top_folders.cmake)

# Pairs: a folder, and beginnings of the headers that its files may include beside those of the folder itself. The longest
# folder that fits a file counts; so the parts of model/ and server/ stand under the same rule as the parts of the tree.
# Low to high.
set(layers
  common/kernels              ""
  common                      "common/kernels/"
  proto                       ""
  robots                      "common/"
  knn/kernels                 "common/kernels/"
  knn                         "common/|knn/kernels/"
  render/kernels              "common/kernels/"
  render                      "common/|knn/|render/kernels/"
  data/kernels                "common/(kernels/|random\\.h)"
  data/mcap                   "common/"
  data/bags                   "common/|data/mcap/"
  data/hdf5                   "common/"
  data/parquet                "common/"
  data/importers              "common/|robots/|data/[a-z_]+\\.h|data/mcap/|data/bags/|data/(hdf5|parquet)/"
  data/exporters              "common/|robots/|data/[a-z_]+\\.h|data/mcap/|data/bags/"
  data/sim                    "common/|robots/|data/[a-z_]+\\.h"
  data                        "common/|robots/|data/kernels/"
  model/kernels               "common/(kernels/|random\\.h)"
  model/runtime               "common/"
  model/cuda                  "common/|knn/kernels/|render/kernels/|data/kernels/|model/(kernels/|runtime/)"
  model/ops                   "common/|knn/|render/|model/(clouds\\.h|kernels/|runtime/|cuda/)"
  model/layers                "common/|model/kernels/"
  model/graph                 "common/|knn/|data/kernels/|model/((clouds|config|device_limits)\\.h|kernels/|runtime/|cuda/|ops/)"
  model/attention/kernels     "common/kernels/"
  model/attention/core        "common/|model/(runtime/|ops/saved_object\\.h|attention/kernels/)"
  model/attention/masks       "common/|knn/|model/(runtime/|ops/saved_object\\.h|graph/walk_|kernels/walk_sampler_options\\.h|attention/(core|kernels)/)"
  model/attention/catalog     "common/|knn/|model/(runtime/|graph/walk_|attention/(core|masks)/)"
  model/attention/files       "common/|model/(runtime/|files/|attention/(core|catalog|masks)/)"
  model/attention             "common/|knn/|model/(runtime/|config\\.h|ops/|layers/|graph/|attention/(core|catalog)/)"
  model/network               "common/|knn/|render/|model/((clouds|config)\\.h|kernels/|runtime/|ops/|layers/|graph/|attention/)"
  model/engine                "common/|model/((clouds|config|device_limits)\\.h|kernels/|runtime/|cuda/|layers/|graph/|attention/|network/)"
  model/files                 "common/|robots/|model/(config\\.h|runtime/|network/)"
  model/lifting               "common/|robots/|render/|data/|model/((clouds|config|predictor)\\.h|cuda/|network/)"
  model/training/distributed/gloo_names  ""
  model/training/distributed  "common/|model/runtime/"
  model/training              "common/|robots/|render/|data/|model/((clouds|config|device_limits)\\.h|[a-z]+/)"
  model/learning              "common/|model/(runtime/|files/tensor_|layers/|attention/|network/|training/)"
  model                       "common/|robots/|knn/|render/|data/|model/[a-z]+/"
  server/kernels              "common/kernels/"
  server/convert              "common/|data/|server/(limits\\.h|kernels/)"
  server/models               "common/|data/|model/(predictor|cuda/built_backend)\\.h"
  server/calls                "common/|model/rollout_runner\\.h|server/([a-z_]+\\.h|convert/|models/)"
  server/handlers             "common/|server/([a-z_]+\\.h|convert/|calls/)"
  server/transport            "common/|server/([a-z_]+\\.h|convert/|calls/|handlers/)"
  server                      "common/|proto/recording\\.h|server/|model/(runtime/process_setup|cuda/built_backend)\\.h"
  client/convert              "common/|client/[a-z_]+\\.h"
  client/planner              "common/|client/[a-z_]+\\.h"
  client                      "common/|proto/recording\\.h|client/convert/|client/planner/"
  evaluation                  "common/|robots/|render/|data/|client/rollout_backend\\.h"
  experiments/hdvpd           "common/|data/|client/rollout_backend\\.h|model/files/tensor_header\\.h|evaluation/|experiments/[a-z_]+\\.h"
  experiments/learning        "common/|evaluation/|experiments/[a-z_]+\\.h|model/learning/(learner|learning_config|example_set)\\.h"
  experiments/masks           "common/|evaluation/|experiments/[a-z_]+\\.h|model/attention/files/(attention_files|mask_measurements)\\.h"
  experiments/planner         "common/|data/|client/rollout_backend\\.h|evaluation/|experiments/[a-z_]+\\.h"
  experiments                 "common/|evaluation/"
  cli/verbs                   "common/|robots/|knn/|data/|client/|evaluation/|experiments/|model/|cli/[a-z_]+\\.h"
  cli                         "common/|robots/|data/|client/|evaluation/|model/|cli/verbs/verbs\\.h"
  docs/examples               "client/")

# What measures and tests may include anything. Known are these, and tests/X for every folder X that is known.
set(free_folders
  bench bench/device bench/device/model bench/device/stages bench/kernels bench/peers bench/stages
  tests tests/build tests/consumer/project tests/deploy tests/device tests/device/emulation tests/device/emulation/common/kernels
  tests/examples tests/fuzz tests/support)

# Pairs: headers of a library, or ours for few, and the files that are their door. Programs that measure and test go
# through any.
set(doors
  "^model/runtime/process_setup\\.h$"            "^((server|cli)/main|model/runtime/process_setup)\\.cpp$"
  "^(torch|ATen|c10)/"                          "^model/"
  "^(grpc|grpcpp)/"                             "^(server|client)/"
  "^(google/(protobuf|rpc)|interlacer/v1)/"     "^((server|client)/|data/bags/foxglove_)"
  "^faiss/"                                     "^knn/faiss_index\\.cpp$"
  "^open3d/"                                    "^data/(point_cloud_io|outlier_filter)\\.cpp$"
  "^(mujoco|GL)/"                               "^(data/sim/|robots/mjcf\\.cpp$)"
  "^(urdf_|console_bridge/)"                    "^robots/urdf\\.cpp$"
  "^assimp/"                                    "^robots/mesh_file\\.cpp$"
  "^Eigen/"                                     "^(common/transforms|(data/sim|robots)/inverse_kinematics|robots/rigid_fit)\\.cpp$"
  "^(png|turbojpeg)\\.h$"                       "^common/image_codec\\.cpp$"
  "^nlohmann/json\\.hpp$"                       "^common/json\\.h$"
  "^spdlog/"                                    "^common/log\\.cpp$"
  "^toml\\+\\+/"                                "^common/toml_options\\.cpp$"
  "^libdeflate\\.h$"                            "^(common/png_stream|data/mcap/compression)\\.cpp$"
  "^(zstd|lz4frame)\\.h$"                       "^data/mcap/compression\\.cpp$"
  "^sqlite3\\.h$"                               "^data/bags/sqlite_bag\\.cpp$"
  "^hdf5\\.h$"                                  "^data/hdf5/"
  "^(arrow|parquet)/"                           "^data/parquet/"
  "^foxglove/"                                  "^data/bags/foxglove_"
  "^nghttp2/"                                   "^server/transport/header_block\\.cpp$"
  "^prometheus/"                                "^server/metrics\\.cpp$"
  "^CLI/"                                       "^(server/parse_options\\.cpp$|cli/|common/program_options\\.h$)"
  "^openssl/"                                   "^(common/(base64|sha256)|server/transport/tls_session)\\.cpp$"
  "^cuda"                                       "^[a-z]+/kernels/")

set(folders "")
while(layers)
  list(POP_FRONT layers folder rule)
  list(APPEND folders "${folder}")
  string(MAKE_C_IDENTIFIER "${folder}" key)
  set(may_include_${key} "${rule}")
endwhile()
list(APPEND folders ${free_folders})

# The longest folder of the table that holds `file`, or nothing.
function(folder_of file out)
  set(best "")
  foreach(folder IN LISTS folders)
    string(LENGTH "${folder}" length)
    string(LENGTH "${best}" best_length)
    string(FIND "${file}" "${folder}/" place)
    if(place EQUAL 0 AND length GREATER best_length)
      set(best "${folder}")
    endif()
  endforeach()
  set(${out} "${best}" PARENT_SCOPE)
endfunction()

set(findings "")
set(all_files "")
foreach(top IN LISTS top_folders)
  file(GLOB_RECURSE files RELATIVE "${ROOT}"
    "${ROOT}/${top}/*.h" "${ROOT}/${top}/*.cpp" "${ROOT}/${top}/*.cu" "${ROOT}/${top}/*.cuh")
  list(FILTER files EXCLUDE REGEX "^tests/lint/breaches/")
  list(APPEND all_files ${files})
  foreach(file IN LISTS files)
    get_filename_component(own "${file}" DIRECTORY)
    if(top MATCHES "^(bench|tests)$")
      string(REGEX REPLACE "^tests/" "" tested "${own}")
      if(NOT own IN_LIST free_folders AND NOT tested IN_LIST folders)
        list(APPEND findings "${file}: the table of folders does not know ${own}")
      endif()
      continue()
    endif()
    folder_of("${file}" folder)
    # Every folder has a row of its own; the headers that Gloo asks for by name lie in folders of theirs.
    if(NOT own STREQUAL folder AND NOT folder MATCHES "/gloo_names$")
      list(APPEND findings "${file}: the table of folders does not know ${own}")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" key)
    file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]*)[>\"].*$" "\\1" header "${line}")
      string(REGEX MATCH "^[^/]*" target "${header}")
      folder_of("${header}" header_folder)
      if(target IN_LIST folders AND NOT header_folder STREQUAL folder
          AND NOT (may_include_${key} AND header MATCHES "^(${may_include_${key}})"))
        list(APPEND findings "${file} includes ${header}: ${folder} may include ${may_include_${key}}")
      endif()
      set(pairs "${doors}")
      while(pairs)
        list(POP_FRONT pairs library door)
        if(header MATCHES "${library}" AND NOT file MATCHES "${door}")
          list(APPEND findings "${file} includes ${header}: the door of this library is ${door}")
        endif()
      endwhile()
    endforeach()
  endforeach()
endforeach()
refuse_no_files(${all_files})

# The doors of the model must not need LibTorch in whoever includes them.
foreach(file IN ITEMS model/predictor.h model/rollout_runner.h model/rollout_runner.cpp)
  if(EXISTS "${ROOT}/${file}")
    file(STRINGS "${ROOT}/${file}" lines REGEX "include[ \t]*[<\"](torch|ATen|c10)/")
    if(lines)
      list(APPEND findings "${file} includes LibTorch: it must stay free of it")
    endif()
  endif()
endforeach()

if(findings)
  list(TRANSFORM findings REPLACE ";" " ")
  list(LENGTH findings count)
  list(JOIN findings "\n  " text)
  message(FATAL_ERROR "include rules broken ${count} time(s):\n  ${text}")
endif()
