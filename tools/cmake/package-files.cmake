# CPack runs this file on the files to be packed. It adds copyright, the licences of the libraries inside, changelog and
# an SPDX file to each package, and compresses them as Debian requires.
set(parts_program program codec)
set(parts_cuda cuda)
set(parts_parquet parquet)
set(inside_program program)  # codecs are libraries of other packages
set(inside_cuda cuda)
set(inside_parquet parquet)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} name)
  set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  file(MAKE_DIRECTORY ${root}/doc/${package})
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${root}/doc/${package}/copyright)
  file(WRITE ${root}/doc/${package}/changelog
       "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
       "  * Version ${CPACK_PACKAGE_VERSION}; what changed stands in the history of the sources.\n\n"
       " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  $ENV{GPUSORT_CHANGED}\n")
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../packaging/spdx ${CPACK_GPUSORT_BUILD} ${package}
                  ${parts_${component}} OUTPUT_FILE ${root}/doc/${package}/${package}.spdx.json
                  COMMAND_ERROR_IS_FATAL ANY)
  set(documents ${root}/doc/${package}/changelog)
  if(inside_${component})
    list(APPEND documents ${root}/doc/${package}/libraries.copyright)
    execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../packaging/spdx --texts ${CPACK_GPUSORT_BUILD}
                    ${inside_${component}} OUTPUT_FILE ${root}/doc/${package}/libraries.copyright
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
  if(component STREQUAL "cluster")
    list(APPEND documents ${root}/doc/${package}/README.md)
    file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/../cluster/README.md ${root}/doc/${package}/README.md)
    # The scripts begin with env -S, because Ray has to be in the python3 of the user's environment.
    file(WRITE ${root}/lintian/overrides/${package} "${package}: unusual-interpreter\n")
  endif()
  if(component STREQUAL "parquet")
    file(GLOB_RECURSE shared ${CPACK_TEMPORARY_DIRECTORY}/parquet/usr/lib/lib*.so.*)
    if(shared)
      execute_process(COMMAND strip --strip-unneeded ${shared} COMMAND_ERROR_IS_FATAL ANY)
      # The libraries are for this module alone, and Debian has no newer ones.
      file(WRITE ${root}/lintian/overrides/${package}
           "${package}: custom-library-search-path\n${package}: embedded-library\n")
    endif()
  endif()
  file(GLOB pages ${root}/man/man1/*.1 ${root}/man/man7/*.7)
  execute_process(COMMAND gzip -9nf ${documents} ${pages} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY}/${component} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
