# cmake -DROOT=<tree> -P document_commands.cmake: names commands of documents that cannot be run as they are printed, because they
# say options of a verb that writes, and not where to. docs/study.md is a protocol and stays as it was.
cmake_minimum_required(VERSION 3.25)

set(writes "(simulate|import|evaluate|predict|train|plan|experiment|export|robot make)")
file(GLOB documents "${ROOT}/*.md" "${ROOT}/docs/*.md" "${ROOT}/bench/*.md" "${ROOT}/python/*.md" "${ROOT}/checkpoints/*/*.md")
list(FILTER documents EXCLUDE REGEX "/docs/study.md$")
set(findings "")
foreach(document IN LISTS documents)
  file(RELATIVE_PATH name "${ROOT}" "${document}")
  file(READ "${document}" text)
  # What CMake's lists would take for their own.
  string(REGEX REPLACE "[][;]" " " text "${text}")
  string(REPLACE "\\\n" " " text "${text}")
  string(REGEX MATCHALL "`interlacer ${writes} [^`]*`" spans "${text}")
  string(REGEX MATCHALL "\ninterlacer ${writes} [^\n]*" lines "${text}")
  foreach(command IN LISTS spans lines)
    string(REGEX REPLACE "[\n` ]+" " " command "${command}")
    if(command MATCHES " --?[a-z]" AND NOT command MATCHES " (-o|--output) ")
      list(APPEND findings "${name}: ${command}")
    endif()
  endforeach()
endforeach()

if(findings)
  list(LENGTH findings count)
  list(JOIN findings "\n  " text)
  message(FATAL_ERROR "${count} command(s) of documents do not say where to write (-o):\n  ${text}")
endif()
