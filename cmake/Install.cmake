# What an installation holds, in three components, and the Debian packages made of them (cpack, in the build folder):
#   server      interlacer-server, the private libraries of both programs, systemd unit, configuration
#   tools       interlacer, the robot model of the simulator
#   client-dev  the client library as a CMake package whose interlacer::client an outside project links (tests/consumer)
# The programs find LibTorch, MuJoCo and Arrow in lib/interlacer beside them, wherever the prefix lies.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(private_library_dir "${CMAKE_INSTALL_LIBDIR}/interlacer")
if(TARGET interlacer-server AND TARGET interlacer)
  install(TARGETS interlacer-server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  install(TARGETS interlacer RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  file(RELATIVE_PATH from_bin_to_libraries "/${CMAKE_INSTALL_BINDIR}" "/${private_library_dir}")
  set_target_properties(interlacer interlacer-server PROPERTIES
    INSTALL_RPATH "$ORIGIN/${from_bin_to_libraries}" INSTALL_RPATH_USE_LINK_PATH OFF)

  # What the linked libraries of the wheels load in turn; a wheel's own run path ends with its folder. With the CUDA set in
  # the cache that is all of it.
  set(torch_root "${INTERLACER_CACHE}/torch")
  file(GLOB wheel_libraries "${torch_root}/torch/lib/lib*.so*" "${torch_root}/nvidia/*/lib/lib*.so*")
  list(FILTER wheel_libraries EXCLUDE REGEX "/lib(shm|torch_python|torch_global_deps|caffe2_nvrtc)[.]so")
  install(FILES ${wheel_libraries} DESTINATION ${private_library_dir} COMPONENT server)
  if(TARGET interlacer::mujoco)
    install(FILES "$<TARGET_FILE:interlacer::mujoco>" DESTINATION ${private_library_dir} COMPONENT tools)
  endif()
  if(TARGET interlacer::arrow_parquet)
    install(FILES "$<TARGET_FILE:interlacer::arrow>" "$<TARGET_FILE:interlacer::arrow_parquet>"
      DESTINATION ${private_library_dir} COMPONENT tools)
    install(DIRECTORY "${INTERLACER_CACHE}/arrow/pyarrow-26.0.1.dist-info/licenses/"
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/pyarrow-26.0.1 COMPONENT tools)
  endif()
  foreach(part IN ITEMS torch-2.11.0 nvidia_cuda_runtime-13.0.96)
    install(DIRECTORY "${torch_root}/${part}.dist-info/licenses/"
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/${part} COMPONENT server)
  endforeach()
  install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT server)
  install(FILES deploy/interlacer-server.service DESTINATION lib/systemd/system COMPONENT server)
  install(FILES deploy/server.toml deploy/proxy/haproxy.cfg DESTINATION ${CMAKE_INSTALL_DATADIR}/interlacer COMPONENT server)
  # What predicts when no checkpoint is named (cli/shipped_models.h).
  install(DIRECTORY checkpoints/paper checkpoints/small DESTINATION ${CMAKE_INSTALL_DATADIR}/interlacer/checkpoints
    COMPONENT tools PATTERN training EXCLUDE PATTERN stages EXCLUDE)
  foreach(folder IN ITEMS robots/iiwa/meshes robots/panda/meshes textures)
    install(DIRECTORY "${INTERLACER_ROBOT_ASSETS}/${folder}/"
      DESTINATION ${CMAKE_INSTALL_DATADIR}/interlacer/robosuite_assets/${folder} COMPONENT tools)
  endforeach()
endif()

if(TARGET interlacer_client)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/interlacer")
  set_target_properties(interlacer_options PROPERTIES EXPORT_NAME options)
  set_target_properties(interlacer_proto PROPERTIES EXPORT_NAME proto)
  install(TARGETS interlacer_options interlacer_common_core interlacer_common interlacer_proto interlacer_client
    EXPORT interlacerTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client-dev)
  install(EXPORT interlacerTargets NAMESPACE interlacer:: DESTINATION ${package_dir} COMPONENT client-dev)
  foreach(folder IN ITEMS common client)
    install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/interlacer/${folder} COMPONENT client-dev
      FILES_MATCHING PATTERN "*.h" PATTERN convert EXCLUDE PATTERN kernels EXCLUDE PATTERN program_options.h EXCLUDE)
  endforeach()
  install(FILES "${PROJECT_BINARY_DIR}/generated/common/version.h"
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/interlacer/common COMPONENT client-dev)

  configure_package_config_file(cmake/interlacerConfig.cmake.in "${PROJECT_BINARY_DIR}/interlacerConfig.cmake"
    INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/interlacerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/interlacerConfig.cmake" "${PROJECT_BINARY_DIR}/interlacerConfigVersion.cmake"
    DESTINATION ${package_dir} COMPONENT client-dev)
endif()

# Packages are for any GPU; scripts/demo and scripts/test build for fewer architectures.
if(INTERLACER_CUDA_ENABLED AND NOT INTERLACER_CUDA_ARCHITECTURES STREQUAL interlacer_released_architectures)
  file(WRITE "${PROJECT_BINARY_DIR}/refuse_packages.cmake"
    "message(FATAL_ERROR \"packages: expected CUDA architectures ${interlacer_released_architectures}, got "
    "${INTERLACER_CUDA_ARCHITECTURES}; build them in a folder of their own: cmake --preset package\")\n")
  set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/refuse_packages.cmake")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL server tools client-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "The GRF Interlacer developers <interlacer@localhost>")
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  "${INTERLACER_CACHE}/torch/torch/lib" "${INTERLACER_CACHE}/torch/nvidia/cu13/lib" "${INTERLACER_CACHE}/mujoco"
  "${INTERLACER_CACHE}/arrow/pyarrow")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME interlacer-server)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME interlacer-tools)
set(CPACK_DEBIAN_CLIENT-DEV_PACKAGE_NAME libinterlacer-client-dev)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS interlacer-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "interlacer-server (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLIENT-DEV_PACKAGE_DEPENDS
  "libdeflate-dev, libeigen3-dev, libgrpc++-dev, libjpeg62-turbo-dev, libpng-dev, libprotobuf-dev, libspdlog-dev, libssl-dev, libturbojpeg0-dev, nlohmann-json3-dev, pkgconf, protobuf-compiler-grpc")
set(CPACK_COMPONENT_SERVER_DESCRIPTION "gRPC server that predicts rollouts from RGB-D frames")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Command line: simulate, import, train, predict, evaluate, compare, probe")
set(CPACK_COMPONENT_CLIENT-DEV_DESCRIPTION "C++ client library of the GRF Interlacer service")
include(CPack)
