foreach(name device oracle_fails)
  sec_test(${name}_test LABEL model TIMEOUT 60 SOURCES ${name}_test.cpp ../support/sc_main.cpp LIBS sec_tlm)
endforeach()
