# interlacer::arrow_parquet and interlacer::arrow, from the unpacked PyPI wheel.

set(interlacer_arrow_soversion 2600)
set(arrow_root "${INTERLACER_CACHE}/arrow/pyarrow")
foreach(pair IN ITEMS arrow:arrow parquet:arrow_parquet)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 file)
  list(GET pair 1 target)
  set(library "${arrow_root}/lib${file}.so.${interlacer_arrow_soversion}")
  if(NOT EXISTS "${library}")
    message(FATAL_ERROR "Arrow: expected ${library}; run scripts/setup, set INTERLACER_CACHE, or configure with "
      "-DINTERLACER_WITH_ARROW=OFF")
  endif()
  add_library(interlacer::${target} SHARED IMPORTED GLOBAL)
  set_target_properties(interlacer::${target} PROPERTIES
    IMPORTED_LOCATION "${library}"
    IMPORTED_SONAME "lib${file}.so.${interlacer_arrow_soversion}")
  target_include_directories(interlacer::${target} SYSTEM INTERFACE "${arrow_root}/include")
endforeach()
set_property(TARGET interlacer::arrow_parquet APPEND PROPERTY INTERFACE_LINK_LIBRARIES interlacer::arrow)
