sec_test(unit_compose LABEL unit SOURCES ${CMAKE_CURRENT_LIST_DIR}/compose_test.cpp LIBS sec_compose sec_cpu sec_platform)
if(TARGET sec_session)
  find_package(OpenSSL REQUIRED)
  sec_test(unit_compose_engine LABEL unit
           SOURCES ${CMAKE_CURRENT_LIST_DIR}/compose_engine_test.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/sc_main.cpp
           LIBS sec_session OpenSSL::Crypto)
  sec_test(unit_compose_aead LABEL unit
           SOURCES ${CMAKE_CURRENT_LIST_DIR}/compose_aead_test.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/sc_main.cpp
           LIBS sec_session sec_compose OpenSSL::Crypto)
endif()
