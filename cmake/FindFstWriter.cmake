# GTKWave's FST writer and reader as target FstWriter::fstapi. No package holds this library alone: Debian installs its
# C sources (MIT and BSD licences) with Verilator, for compiling into traced models. They are built from there.
# (Debian's libfst-dev is OpenFst, finite-state transducers, and has nothing to do with it.)
find_program(FstWriter_VERILATOR verilator)
if(FstWriter_VERILATOR AND NOT FstWriter_VERILATOR_ROOT)
  execute_process(COMMAND ${FstWriter_VERILATOR} --getenv VERILATOR_ROOT
                  OUTPUT_VARIABLE FstWriter_root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(FstWriter_VERILATOR_ROOT "${FstWriter_root}" CACHE PATH "Where Verilator keeps its include folder")
endif()
find_path(FstWriter_INCLUDE_DIR fstapi.h
          HINTS ${FstWriter_VERILATOR_ROOT}/include/gtkwave $ENV{VERILATOR_ROOT}/include/gtkwave
                /usr/share/verilator/include/gtkwave)
find_package(ZLIB QUIET)
find_package(Threads QUIET)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FstWriter REQUIRED_VARS FstWriter_INCLUDE_DIR ZLIB_FOUND Threads_FOUND
  REASON_FAILURE_MESSAGE "install the packages verilator and zlib1g-dev")
if(FstWriter_FOUND AND NOT TARGET FstWriter::fstapi)
  add_library(fstapi STATIC EXCLUDE_FROM_ALL
    ${FstWriter_INCLUDE_DIR}/fstapi.c ${FstWriter_INCLUDE_DIR}/lz4.c ${FstWriter_INCLUDE_DIR}/fastlz.c)
  target_include_directories(fstapi SYSTEM PUBLIC ${FstWriter_INCLUDE_DIR})
  target_compile_definitions(fstapi PRIVATE FST_CONFIG_INCLUDE="fst_config.h" _GNU_SOURCE)
  # Not our code: no warnings, and no reports of its unaligned accesses in builds with sanitizers.
  target_compile_options(fstapi PRIVATE -w -fno-sanitize=undefined)
  target_link_libraries(fstapi PUBLIC ZLIB::ZLIB Threads::Threads)
  add_library(FstWriter::fstapi ALIAS fstapi)
endif()
