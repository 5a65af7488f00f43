sec_test(bridge_test LABEL e2e SOURCES ${CMAKE_CURRENT_LIST_DIR}/bridge_test.cpp ${CMAKE_SOURCE_DIR}/tests/support/sc_main.cpp LIBS sec_session)
