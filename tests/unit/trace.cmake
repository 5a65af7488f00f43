# Waveform files. The FST side is read back by GTKWave's own fst2vcd.
find_program(FST2VCD fst2vcd)
if(TARGET sec_trace AND FST2VCD)
  sec_test(trace_test LABEL unit TIMEOUT 60 SOURCES trace_test.cpp LIBS sec_trace fmt::fmt)
  target_compile_definitions(trace_test PRIVATE FST2VCD="${FST2VCD}")
  add_test(NAME trace_views_are_fresh COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/waveforms/make_views.py --check)
  set_tests_properties(trace_views_are_fresh PROPERTIES LABELS unit TIMEOUT 30)
  if(TARGET secsim)
    add_test(NAME trace_of_a_run
             COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/trace_of_a_run.py $<TARGET_FILE:secsim>)
    set_tests_properties(trace_of_a_run PROPERTIES LABELS e2e TIMEOUT 180
                         ENVIRONMENT "SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1")
    add_test(NAME trace_howto COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/e2e/howto.py $<TARGET_FILE:secsim>
             ${CMAKE_SOURCE_DIR}/docs/howto/waveforms.md)
    set_tests_properties(trace_howto PROPERTIES LABELS e2e TIMEOUT 180 SKIP_RETURN_CODE 77)
  endif()
elseif(TARGET sec_trace)
  message(STATUS "fst2vcd (package gtkwave) not found: no trace tests")
endif()
