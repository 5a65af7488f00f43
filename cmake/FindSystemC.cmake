# Debian's SystemC as target SystemC::systemc. The library is built as C++17: code in C++20 links only
# when SC_CPLUSPLUS says so, and every translation unit must agree, hence the interface definition.
find_package(PkgConfig QUIET)
pkg_check_modules(PC_SYSTEMC QUIET systemc)
find_path(SystemC_INCLUDE_DIR systemc HINTS ${PC_SYSTEMC_INCLUDE_DIRS})
find_library(SystemC_LIBRARY systemc HINTS ${PC_SYSTEMC_LIBRARY_DIRS})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR)
if(SystemC_FOUND AND NOT TARGET SystemC::systemc)
  add_library(SystemC::systemc UNKNOWN IMPORTED)
  set_target_properties(SystemC::systemc PROPERTIES
    IMPORTED_LOCATION ${SystemC_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SystemC_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS SC_CPLUSPLUS=201703L)
endif()
