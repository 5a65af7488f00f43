# The language of poke scripts and the bench.
if(TARGET sec_poke)
  sec_test(poke_test LABEL unit TIMEOUT 60 SOURCES poke_test.cpp ../support/sc_main.cpp LIBS sec_poke fmt::fmt)
endif()
