# How lessons are built and their answers judged.

# pagelab_add_lesson(NN_name [KERNELS] [LINK target ...]): the lesson in the folder of that name. Its example
# becomes the program lesson_NN_name. Its check knows an answer only by the functions that answer.cpp tells of,
# so it is compiled once, and linked with the solution, which must pass, and the wrong answers, each of which must
# be rejected in the task that its first line names ("// Wrong in task 2: ..."). The exercise is compiled when
# `pagelab check` is called, so that a half-written one breaks no build. LINK: what example and check need besides
# the reference. KERNELS: an answer's kernels are in the lesson's answer.cu, the example's in its kernels.cu, if it
# has one, or in what it LINKs. Such a lesson is about what the simulator's checks say, so where there are no
# checked kernels it is not built.
function(pagelab_add_lesson name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KERNELS" "" "LINK")
  if(arg_KERNELS AND NOT PAGELAB_CHECKED_KERNELS)
    return()
  endif()
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  string(SUBSTRING "${name}" 0 2 number)
  add_executable(lesson_${name} ${folder}/example.cpp)
  target_link_libraries(lesson_${name} PRIVATE reference ${arg_LINK} pagelab_warnings pagelab_sanitizers)
  if(arg_KERNELS)
    target_link_libraries(lesson_${name} PRIVATE runtime simt)
    if(EXISTS ${folder}/kernels.cu)
      pagelab_add_kernels(lesson_${name}_kernels ${folder}/kernels.cu)
      target_link_libraries(lesson_${name} PRIVATE lesson_${name}_kernels)
      set_target_properties(lesson_${name}_kernels_checked PROPERTIES PAGELAB_STEPPED ON)
    endif()
    # What is right in the simulator, and what is asked for, must be CUDA: nvcc has to take it too.
    foreach(answer IN ITEMS solution exercise)
      if(PAGELAB_HAS_CUDA)
        add_library(lesson_${name}_${answer}_cuda OBJECT ${folder}/answer.cu)
        target_link_libraries(lesson_${name}_${answer}_cuda PRIVATE pagelab_options pagelab_cuda_kernel)
        target_compile_definitions(lesson_${name}_${answer}_cuda
          PRIVATE "PAGELAB_ANSWER=\"${folder}/${answer}.h\"")
      endif()
    endforeach()
  endif()
  if(TARGET pagelab_program)
    add_dependencies(pagelab_program lesson_${name})
  endif()
  add_test(NAME "lesson ${number}: the example prints example.txt"
    COMMAND sh -c "\"$0\" | diff -u \"$1\" -" $<TARGET_FILE:lesson_${name}> ${folder}/example.txt)

  add_library(check_${name} OBJECT ${folder}/check.cpp)
  target_precompile_headers(check_${name} REUSE_FROM lesson_checker)
  target_link_libraries(check_${name}
    PUBLIC lesson_checker ${arg_LINK} reference pagelab_sanitizers PRIVATE pagelab_warnings)
  # For `pagelab check`, which compiles the answer alone.
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/lessons/${name}/check_object.txt"
    CONTENT "$<TARGET_OBJECTS:check_${name}>\n")
  if(TARGET pagelab_program)
    add_dependencies(pagelab_program check_${name})
  endif()

  set(answer_source "${folder}/answer.cpp")
  if(arg_KERNELS)
    set(answer_source "${folder}/answer.cu")
  endif()
  cmake_path(RELATIVE_PATH answer_source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE included)
  pagelab_compose_answers(${name} "${included}" answers_source)

  set(target check_${name}_answers)
  add_library(${target}_object OBJECT "${answers_source}")
  target_link_libraries(${target}_object PRIVATE pagelab_options pagelab_warnings)
  if(arg_KERNELS)
    target_link_libraries(${target}_object PRIVATE pagelab_checked_kernel)
  else()
    target_link_libraries(${target}_object PRIVATE lesson_checker reference pagelab_sanitizers)
    target_precompile_headers(${target}_object REUSE_FROM lesson_checker)
  endif()
  add_executable(${target} $<TARGET_OBJECTS:${target}_object>)
  target_link_libraries(${target} PRIVATE check_${name} lesson_checker reference pagelab_sanitizers)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lessons/checks)

  add_test(NAME "lesson ${number}: the solution passes" COMMAND ${target})
  set_tests_properties("lesson ${number}: the example prints example.txt"
    "lesson ${number}: the solution passes" PROPERTIES LABELS lessons TIMEOUT 60)
endfunction()

# Writes one source file of the solution and all the wrong answers of a lesson, and adds the latters' tests. Each of
# them is small, and compiling it alone would cost a second for the headers that all of them have, some two hundred
# times. So that they can lie in one file, the namespace lesson_NN has another name in each, and finds in lesson_NN
# the names of the lesson's headers, which are included before. (solution.h, which every wrong answer takes the rest
# from, has therefore no #pragma once.) Which one is checked is said by PAGELAB_ANSWER_NAME; by default the solution.
function(pagelab_compose_answers name included result)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  string(SUBSTRING "${name}" 0 2 number)
  set(lesson "lesson_${number}")
  file(STRINGS ${folder}/solution.h headers REGEX "^#include ")
  list(JOIN headers "\n" headers)
  set(text "${headers}\n#include \"lessons/${name}/answer.h\"\n#include \"lessons/checker/named_answer.h\"\n\nnamespace pagelab::${lesson} {}\n")
  set(names "")
  file(GLOB wrong_answers CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/wrong/*.h)
  foreach(answer IN LISTS wrong_answers ITEMS solution.h)
    cmake_path(GET answer STEM answer_name)
    string(APPEND text "
namespace pagelab::${lesson}_${answer_name} {
using namespace pagelab::${lesson};
}
#define ${lesson} ${lesson}_${answer_name}
#define PAGELAB_ANSWER \"lessons/${name}/${answer}\"
#include \"${included}\"
#undef ${lesson}
#undef PAGELAB_ANSWER
")
    list(APPEND names ${answer_name})
  endforeach()

  foreach(wrong_answer IN LISTS wrong_answers)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${wrong_answer})
    file(STRINGS ${folder}/${wrong_answer} first_line LIMIT_COUNT 1)
    if(NOT first_line MATCHES "^// Wrong in task ([0-9]+):")
      message(FATAL_ERROR "${folder}/${wrong_answer} must begin with '// Wrong in task N: why'.")
    endif()
    set(task ${CMAKE_MATCH_1})
    cmake_path(GET wrong_answer STEM mistake)
    set(case "lesson ${number}: the wrong answer ${mistake} is rejected in task ${task}")
    add_test(NAME "${case}" COMMAND check_${name}_answers)
    set_tests_properties("${case}" PROPERTIES LABELS lessons TIMEOUT 60
      ENVIRONMENT "PAGELAB_ANSWER_NAME=${mistake}"
      PASS_REGULAR_EXPRESSION "Task ${task}, [a-z_]+, (is not right yet|crashed|was stopped|is not done)")
  endforeach()

  # The namespace of what the check calls: kernels have one for each target that they are compiled for.
  set(target_of_check "")
  if(included MATCHES "\\.cu$")
    set(target_of_check "::on_checked_simulator")
  endif()
  list(TRANSFORM names REPLACE "(.+)" "{\"\\1\", ${lesson}_\\1::answer}" OUTPUT_VARIABLE entries)
  list(JOIN entries ",\n    " entries)
  string(APPEND text "
pagelab::${lesson}::Answer pagelab::${lesson}${target_of_check}::answer() {
  return lessons::named_answer<Answer (*)()>({\n    ${entries}})();
}
")
  set(source "${PROJECT_BINARY_DIR}/lessons/${name}/answers.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
  set(${result} "${source}" PARENT_SCOPE)
endfunction()
