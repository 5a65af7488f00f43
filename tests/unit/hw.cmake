# Core, units and timing, without SystemC.
foreach(name errors channel pairs types sec1 units mdeu aesu_modes deu clocked timing generations)
  sec_test(hw_${name}_test LABEL unit TIMEOUT 60 SOURCES hw_${name}_test.cpp LIBS sec_core)
endforeach()
