# Installation and packages.
# Components are packages: tools/package.
include(GNUInstallDirs)
set(GPUSORT_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")
install(TARGETS gpusort gpusort_task gpusort_gen gpusort_check COMPONENT program)
install(TARGETS ${codec_modules} DESTINATION ${GPUSORT_MODULE_FOLDER} COMPONENT program)
if(GPUSORT_CUDA)
  install(TARGETS gpusort_cuda DESTINATION ${GPUSORT_MODULE_FOLDER} COMPONENT cuda)
endif()
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.1 ${CMAKE_CURRENT_BINARY_DIR}/gpusort_task.1
              ${CMAKE_CURRENT_BINARY_DIR}/gpusort_gen.1 ${CMAKE_CURRENT_BINARY_DIR}/gpusort_check.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
configure_file(tools/packaging/python/gpusort-python.7.in generated/gpusort-python.7 @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-keys.7
              ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-python.7
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT program)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_gpusort DESTINATION ${GPUSORT_ZSH_COMPLETIONS} COMPONENT program)
# bash and fish look for a file of the program's name.
foreach(program gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm)
  if(program MATCHES "-")
    set(component cluster)
  else()
    set(component program)
  endif()
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.bash RENAME ${program}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${component})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.fish RENAME ${program}.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ${component})
endforeach()
# The drivers for many machines are scripts in one folder. Their manual pages are the text at their top, and a file of
# further sections.
file(STRINGS tools/cluster/gpusort-ray ray_version REGEX "^RAY = ")
string(REGEX REPLACE ".*\"(.*)\"" "\\1" ray_version "${ray_version}")
set(folder ${CMAKE_INSTALL_DATADIR}/gpusort)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
foreach(driver gpusort-ray gpusort-slurm gpusort-sim)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/cluster/${driver})
  file(READ tools/cluster/${driver} text)
  string(FIND "${text}" "\"\"\"" begin)
  math(EXPR begin "${begin} + 3")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\"\"\"" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REPLACE "'" "\\(aq" text "${text}")
  string(FIND "${text}" ".\n" end)
  string(SUBSTRING "${text}" 0 ${end} purpose)
  string(TOUPPER ${driver} title)
  set(sections "")
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tools/cluster/${driver}.1.in)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/cluster/${driver}.1.in)
    file(READ tools/cluster/${driver}.1.in sections)
    string(CONFIGURE "${sections}" sections @ONLY)
  endif()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${driver}.1
       ".TH ${title} 1 \"\" \"gpusort ${PROJECT_VERSION}\" \"User Commands\"\n"
       ".SH NAME\n${driver} \\- ${purpose}\n.SH DESCRIPTION\n.nf\n"
       "${text}.fi\n${sections}.SH SEE ALSO\n.BR gpusort (1),\n.BR gpusort_task (1)\n")
  file(CREATE_LINK ../${folder}/${driver} ${CMAKE_CURRENT_BINARY_DIR}/bin/${driver} SYMBOLIC)
  install(PROGRAMS tools/cluster/${driver} DESTINATION ${folder} COMPONENT cluster)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/bin/${driver} TYPE BIN COMPONENT cluster)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${driver}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cluster)
endforeach()
install(FILES tools/cluster/gpusort_cluster.py data/bench/cluster-rates-h200.json
        DESTINATION ${folder} COMPONENT cluster)
# The header library, for find_package(gpusort) and pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/gpusort)
configure_package_config_file(tools/cmake/gpusortConfig.cmake.in gpusortConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(gpusortConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(tools/cmake/gpusort.pc.in gpusort.pc @ONLY)
install(DIRECTORY kernels/gpusort TYPE INCLUDE COMPONENT dev)
install(TARGETS gpusort_kernels EXPORT gpusortTargets COMPONENT dev)
install(EXPORT gpusortTargets NAMESPACE gpusort:: DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusortConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/gpusortConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT dev)
include(tools/cmake/package.cmake)
