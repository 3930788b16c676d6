# What an installation holds: the programs, and the client library as a CMake package whose interlacer::client an outside
# project links (tests/consumer does). Components: programs, client-dev.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(program IN ITEMS interlacer interlacer-server)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endforeach()

if(NOT TARGET interlacer_client)
  return()
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/interlacer")
set_target_properties(interlacer_options PROPERTIES EXPORT_NAME options)
set_target_properties(interlacer_proto PROPERTIES EXPORT_NAME proto)
install(TARGETS interlacer_options interlacer_common interlacer_proto interlacer_client
  EXPORT interlacerTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client-dev)
install(EXPORT interlacerTargets NAMESPACE interlacer:: DESTINATION ${package_dir} COMPONENT client-dev)
foreach(folder IN ITEMS common client)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/interlacer/${folder} COMPONENT client-dev
    FILES_MATCHING PATTERN "*.h" PATTERN cli EXCLUDE PATTERN convert EXCLUDE PATTERN kernels EXCLUDE)
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/generated/common/version.h"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/interlacer/common COMPONENT client-dev)

configure_package_config_file(cmake/interlacerConfig.cmake.in "${PROJECT_BINARY_DIR}/interlacerConfig.cmake"
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/interlacerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/interlacerConfig.cmake" "${PROJECT_BINARY_DIR}/interlacerConfigVersion.cmake"
  DESTINATION ${package_dir} COMPONENT client-dev)
