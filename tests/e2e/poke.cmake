# Register-level scripts: the worked ones of docs/howto/poke.md, and those of docs/reference/errors.md.
if(TARGET secsim)
  set(poke ${CMAKE_SOURCE_DIR}/tests/poke)
  add_test(NAME poke_errors COMMAND /usr/bin/python3 ${poke}/run.py $<TARGET_FILE:secsim> ${poke}/errors --all mpc885 mpc8272 mpc8548 p2020)
  add_test(NAME poke_worked COMMAND /usr/bin/python3 ${poke}/run.py $<TARGET_FILE:secsim> ${poke} --all mpc885 mpc8323 mpc8548 mpc8572 p2020 p1020)
  add_test(NAME poke_log COMMAND /usr/bin/python3 ${poke}/log.py $<TARGET_FILE:secsim> ${poke})
  set_tests_properties(poke_errors poke_worked poke_log PROPERTIES LABELS e2e TIMEOUT 300)
endif()
