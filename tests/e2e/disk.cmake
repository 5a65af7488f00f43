if(TARGET sec_disk AND TARGET sec_cpu AND TARGET sec_talitos AND TARGET sec_platforms)
  find_package(CLI11 REQUIRED)
  add_executable(disk_tool ${CMAKE_CURRENT_LIST_DIR}/disk_tool.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/sc_main.cpp)
  target_link_libraries(disk_tool PRIVATE sec_disk sec_cpu sec_talitos sec_platforms CLI11::CLI11)
  add_test(NAME disk_interop COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/disk_interop.py $<TARGET_FILE:disk_tool>)
  # qemu-img calibrates its key derivation for seconds and often gives up; the script tries again.
  set_tests_properties(disk_interop PROPERTIES LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77)

  sec_test(disk_engine_test LABEL e2e
           SOURCES ${CMAKE_CURRENT_LIST_DIR}/disk_engine_test.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/sc_main.cpp
           LIBS sec_disk sec_cpu sec_talitos sec_platforms OpenSSL::Crypto)
endif()
