# cmake -DROOT=<tree> -P include_rules.cmake: refuses includes against the layers, and libraries used past their door.
# Tests, benchmarks, experiments and the command line may include anything.
cmake_minimum_required(VERSION 3.25)

# Folder -> folders that its files may include.
set(layers common knn render data model server client)
set(may_include_common common)
set(may_include_knn common knn)
set(may_include_render common knn render)
set(may_include_data common data)
set(may_include_model common knn render data model)
set(may_include_server common knn render data model server)
set(may_include_client common client)

# Pairs: headers of a library, and the files that are its door.
set(doors
  "^(torch|ATen|c10)/"                          "^model/([a-z0-9_]+\\.|attention/|ops/|training/)"
  "^(grpc|grpcpp)/"                             "^(server|client)/"
  "^(google/(protobuf|rpc)|interlacer/v1)/"     "^(server|client)/"
  "^faiss/"                                     "^knn/faiss_index\\.cpp$"
  "^open3d/"                                    "^data/point_cloud_io\\.cpp$"
  "^(mujoco|GL)/"                               "^data/sim/"
  "^Eigen/"                                     "^common/transforms\\.cpp$"
  "^(png|turbojpeg|jpeglib)\\.h$"               "^common/image_codec\\.cpp$"
  "^nlohmann/json\\.hpp$"                       "^common/(json|log)\\.(h|cpp)$"
  "^(spdlog|fmt)/"                              "^common/(json|log)\\.(h|cpp)$"
  "^prometheus/"                                "^server/metrics\\.cpp$"
  "^CLI/"                                       "^server/options\\.cpp$"
  "^openssl/"                                   "^(common/sha256|server/tls)\\.cpp$"
  "^hdf5"                                       "^data/importers/"
  "^(cuda|cub/|thrust/|cooperative_groups)"     "^[a-z]+/kernels/")

set(findings "")
foreach(folder IN LISTS layers)
  file(GLOB_RECURSE files RELATIVE "${ROOT}"
    "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.cu" "${ROOT}/${folder}/*.cuh")
  list(FILTER files EXCLUDE REGEX "^client/cli/")
  foreach(file IN LISTS files)
    file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]*)[>\"].*$" "\\1" header "${line}")
      string(REGEX MATCH "^[^/]*" target "${header}")
      if(target IN_LIST layers AND NOT target IN_LIST may_include_${folder})
        list(APPEND findings "${file} includes ${header}: ${folder} may include only ${may_include_${folder}}")
      endif()
      if(target IN_LIST layers AND file MATCHES "/kernels/" AND NOT header MATCHES
          "^(${folder}|common)/kernels/|^common/(thread_pool|check|random)\\.h$")
        list(APPEND findings "${file} includes ${header}: kernels know only kernels, the thread pool and random numbers")
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

# The facade of the model must not need LibTorch in whoever includes it.
if(EXISTS "${ROOT}/model/predictor.h")
  file(STRINGS "${ROOT}/model/predictor.h" lines REGEX "include[ \t]*[<\"](torch|ATen|c10)/")
  if(lines)
    list(APPEND findings "model/predictor.h includes LibTorch: the facade must stay free of it")
  endif()
endif()

if(findings)
  list(TRANSFORM findings REPLACE ";" " ")
  list(LENGTH findings count)
  list(JOIN findings "\n  " text)
  message(FATAL_ERROR "include rules broken ${count} time(s):\n  ${text}")
endif()
