# What `cmake --install` lays down, and how another project finds it: find_package(pagelab), then
# pagelab::reference, pagelab::simt and so on, as with add_subdirectory.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(libraries
  pagelab_options pagelab_sanitizers pagelab_fmt
  pagelab_simulated_kernel pagelab_checked_kernel pagelab_cuda_kernel
  reference simt engine runtime kernels kernels_simulated kernels_checked kernels_cuda cpu_attn backends)
foreach(library IN LISTS libraries)
  if(TARGET ${library})
    install(TARGETS ${library} EXPORT pagelabTargets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries)
  endif()
endforeach()

# Headers keep the paths that they are included by: #include "reference/tensor/tensor.h".
install(DIRECTORY reference simulator gpu
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pagelab COMPONENT libraries
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" PATTERN "tiny_llama" EXCLUDE)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pagelab)
install(EXPORT pagelabTargets
  NAMESPACE pagelab:: DESTINATION ${config_dir} COMPONENT libraries)
configure_package_config_file(
  cmake/pagelabConfig.cmake.in ${PROJECT_BINARY_DIR}/pagelabConfig.cmake
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/pagelabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pagelabConfig.cmake ${PROJECT_BINARY_DIR}/pagelabConfigVersion.cmake
  DESTINATION ${config_dir} COMPONENT libraries)

if(TARGET pagelab)
  install(TARGETS pagelab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
