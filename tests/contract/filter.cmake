file(WRITE ${WORK}/filter_input.txt "60300010\nxxxxxxxx\n0\n")
execute_process(COMMAND ${FILTER_DIR}/sec-decode-header INPUT_FILE ${WORK}/filter_input.txt OUTPUT_VARIABLE text
                RESULT_VARIABLE code)
set(expected "AESU CBC encrypt, common_nonsnoop, outbound\nxxxxxxxx\nempty header\n")
if(NOT code EQUAL 0 OR NOT text STREQUAL expected)
  message(FATAL_ERROR "sec-decode-header said ${code}: ${text}")
endif()
execute_process(COMMAND ${FILTER_DIR}/sec-regs filter nonsense INPUT_FILE ${WORK}/filter_input.txt RESULT_VARIABLE code
                ERROR_VARIABLE text)
if(NOT code EQUAL 2 OR NOT text MATCHES "there are header")
  message(FATAL_ERROR "an unknown filter said ${code}: ${text}")
endif()
