sec_test(unit_compose LABEL unit SOURCES ${CMAKE_CURRENT_LIST_DIR}/compose_test.cpp LIBS sec_compose sec_cpu sec_platform)
