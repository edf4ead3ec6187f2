# cmake -D PROGRAM=... -D SCRIPT=... -D ROOT=... -P run_gdb.cmake: lets gdb run SCRIPT.gdb over PROGRAM
# and compares what it prints between the first line '---' and the last with SCRIPT.txt.
# ANY_LINE: the numbers of lines are of no account, because what is stepped through is not the test's own.
# SHOWN_IN is a text whose examples must be lines of it.
# With PAGELAB_UPDATE_GOLDENS set, SCRIPT.txt is written instead, to be read in review.
find_program(GDB gdb)
if(NOT GDB)
  message(STATUS "SKIPPED: needs gdb, but there is none; apt-get install gdb")
  return()
endif()

# Under a sanitizer, the leak check would refuse to run in a debugger.
set(ENV{ASAN_OPTIONS} detect_leaks=0)
set(ENV{PAGELAB_CORES} 1)
set(ENV{PAGELAB_ROOT} ${ROOT})
execute_process(
  COMMAND ${GDB} -q -nx -batch -x ${ROOT}/docs/debugger/pagelab_gdb.py -x ${SCRIPT}.gdb ${PROGRAM}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
if("${output}${errors}" MATCHES "ptrace: Operation not permitted|Could not trace the inferior")
  message(STATUS "SKIPPED: needs a machine that lets gdb run programs; this one forbids ptrace")
  return()
endif()
if(NOT status EQUAL 0 OR NOT "${output}" MATCHES "---\n(.*)\n---\n")
  message(FATAL_ERROR "gdb did not come through (status ${status}):\n${output}\n${errors}")
endif()
set(printed "${CMAKE_MATCH_1}\n")

# Addresses, the checkout's place, how deep the simulator calls and which line launches are of no account; gdb's own words at
# a stop, and the element types of the library's containers, differ between its versions.
string(REPLACE "${ROOT}/" "" printed "${printed}")
string(REGEX REPLACE "#[0-9]+ +(0x[0-9a-f]+ in )?" "# " printed "${printed}")
string(REGEX REPLACE "0x[0-9a-f]+[0-9a-f][0-9a-f][0-9a-f][0-9a-f]" "ADDRESS" printed "${printed}")
string(REGEX REPLACE "\n(Continuing[.]|Breakpoint [0-9]+ at |\\[(Thread|Switching|Detaching|Inferior) )[^\n]*" "" printed "${printed}")
string(REGEX REPLACE "\nBreakpoint [0-9]+, [^\n]*" "\n(stopped at a breakpoint)" printed "${printed}")
string(REGEX REPLACE "(gpu/device/launch[.]h):[0-9]+\n[0-9]+" "\\1:LINE\nLINE" printed "${printed}")
if(ANY_LINE)
  string(REGEX REPLACE "([.]cuh|[.]cpp|[.]h):[0-9]+" "\\1:LINE" printed "${printed}")
  string(REGEX REPLACE "\n[0-9]+\t" "\nLINE\t" printed "${printed}")
endif()
string(REPLACE "std::optional<double>" "std::optional" printed "${printed}")
string(REGEX REPLACE " +\n" "\n" printed "${printed}")
string(REGEX REPLACE "\n\n+" "\n" printed "${printed}")

if(DEFINED ENV{PAGELAB_UPDATE_GOLDENS})
  file(WRITE ${SCRIPT}.txt "${printed}")
endif()
file(READ ${SCRIPT}.txt expected)
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "gdb printed\n${printed}\nbut ${SCRIPT}.txt is\n${expected}")
endif()

# What a text shows of the session (SHOWN_IN) is what gdb prints, but for what is typed.
if(DEFINED SHOWN_IN)
  file(READ ${SHOWN_IN} text)
  string(REPLACE "[" "(" text "${text}")   # brackets and semicolons are CMake's own in lists
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "(" printed "${printed}")
  string(REPLACE "]" ")" printed "${printed}")
  string(REPLACE ";" "," printed "${printed}")
  string(REGEX MATCHALL "```text\n[^`]*```" sessions "${text}")
  string(REGEX REPLACE "```(text)?\n?" "" sessions "${sessions}")
  string(REPLACE "\n" ";" lines "${sessions}")
  list(LENGTH lines num_lines)
  if(num_lines LESS 10)
    message(FATAL_ERROR "${SHOWN_IN} shows no session")
  endif()
  foreach(line IN LISTS lines)
    string(FIND "\n${printed}" "\n${line}\n" place)
    if(place EQUAL -1 AND NOT line MATCHES "^(.gdb.|[$] PAGELAB)" AND NOT line STREQUAL "")
      message(FATAL_ERROR "${SHOWN_IN} shows a line that gdb does not print:\n${line}")
    endif()
  endforeach()
endif()
message(STATUS "gdb printed what ${SCRIPT}.txt has")
