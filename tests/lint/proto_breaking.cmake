# Clients of the last release must go on working: `buf breaking` of proto/ against proto/last_release.binpb, the descriptors that
# it had (before the first release: those that the first one is promised to have). A release stores its own anew:
#   cd proto && buf build --exclude-source-info --path interlacer/v1 -o last_release.binpb
# With -DBREAK=ON a copy in which one field has another number is checked instead, which must fail.
foreach(name IN ITEMS ROOT BUF WORK)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "usage: cmake -DROOT=DIR -DBUF=PROGRAM -DWORK=DIR [-DBREAK=ON] -P proto_breaking.cmake")
  endif()
endforeach()
set(proto "${ROOT}/proto")
if(BREAK)
  file(REMOVE_RECURSE "${WORK}")
  file(COPY "${proto}" DESTINATION "${WORK}")
  set(proto "${WORK}/proto")
  set(file "${proto}/interlacer/v1/interlacer_service.proto")
  file(READ "${file}" text)
  string(REPLACE "max_call_duration = 14;" "max_call_duration = 99;" broken "${text}")
  if(broken STREQUAL text)
    message(FATAL_ERROR "no field to break in ${file}")
  endif()
  file(WRITE "${file}" "${broken}")
endif()
execute_process(COMMAND "${BUF}" breaking --path interlacer/v1 --against last_release.binpb
  WORKING_DIRECTORY "${proto}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the contract of the last release is broken")
endif()
