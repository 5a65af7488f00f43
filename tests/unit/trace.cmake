# Waveform files. The FST side is read back by GTKWave's own fst2vcd.
find_program(FST2VCD fst2vcd)
if(TARGET sec_trace AND FST2VCD)
  sec_test(trace_test LABEL unit TIMEOUT 60 SOURCES trace_test.cpp LIBS sec_trace fmt::fmt)
  target_compile_definitions(trace_test PRIVATE FST2VCD="${FST2VCD}")
elseif(TARGET sec_trace)
  message(STATUS "fst2vcd (package gtkwave) not found: no trace tests")
endif()
