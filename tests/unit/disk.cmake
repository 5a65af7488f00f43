if(TARGET sec_disk AND TARGET sec_cpu)
  find_package(OpenSSL REQUIRED)
  sec_test(unit_disk LABEL unit
           SOURCES ${CMAKE_CURRENT_LIST_DIR}/disk_iv_test.cpp ${CMAKE_CURRENT_LIST_DIR}/disk_pipeline_test.cpp
                   ${CMAKE_CURRENT_LIST_DIR}/disk_luks1_test.cpp ${CMAKE_CURRENT_LIST_DIR}/disk_run_test.cpp
           LIBS sec_disk sec_cpu OpenSSL::Crypto)
endif()
