# sec_test(<name> LABEL <label> SOURCES <files> [LIBS <targets>] [TIMEOUT <s>])
# One GoogleTest executable; every case runs in its own process (SystemC elaborates once per process).
function(sec_test name)
  cmake_parse_arguments(T "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gtest GTest::gtest_main)
  target_link_options(${name} PRIVATE -fno-lto)  # the libraries' objects carry both forms; tests take the quick one
  target_compile_definitions(${name} PRIVATE SEC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SEC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${T_LABEL} TIMEOUT ${T_TIMEOUT}
                       ENVIRONMENT "SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1")
endfunction()
