# Programs, and the client library as a CMake package: find_package(interlacer) gives interlacer::client.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(program IN ITEMS interlacer interlacer-server)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
