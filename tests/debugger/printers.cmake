# cmake -D PROGRAM=... -D ROOT=... -P printers.cmake: lets gdb run printers.gdb over PROGRAM and compares
# what it prints with printers.txt.
find_program(GDB gdb)
if(NOT GDB)
  message(STATUS "SKIPPED: needs gdb, but there is none; apt-get install gdb")
  return()
endif()

# Under a sanitizer, the leak check would refuse to run in a debugger.
set(ENV{ASAN_OPTIONS} detect_leaks=0)
execute_process(
  COMMAND ${GDB} -q -nx -batch -x ${ROOT}/docs/debugger/pagelab_gdb.py
    -x ${CMAKE_CURRENT_LIST_DIR}/printers.gdb ${PROGRAM}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
if("${output}${errors}" MATCHES "ptrace: Operation not permitted|Could not trace the inferior")
  message(STATUS "SKIPPED: needs a machine that lets gdb run programs; this one forbids ptrace")
  return()
endif()

# What lies between the lines '---', but for gdb's own words while it continues to a breakpoint.
if(NOT status EQUAL 0 OR NOT "${output}" MATCHES "---\n(.*)\n?---\n(.*)---\n(.*)\n---\n")
  message(FATAL_ERROR "gdb did not come through (status ${status}):\n${output}\n${errors}")
endif()
set(printed "${CMAKE_MATCH_1}---\n${CMAKE_MATCH_3}\n")
file(READ ${CMAKE_CURRENT_LIST_DIR}/printers.txt expected)
# Element types of the library's containers are written differently by gdb's versions.
string(REPLACE "std::optional<double>" "std::optional" printed "${printed}")
string(REGEX REPLACE " +\n" "\n" printed "${printed}")
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "gdb printed\n${printed}\nbut ${CMAKE_CURRENT_LIST_DIR}/printers.txt is\n${expected}")
endif()
message(STATUS "gdb printed what printers.txt has")
