// SystemC's library wants an sc_main; the tests have a main of their own.
extern "C" int sc_main(int, char**);
int sc_main(int, char**) { return 0; }
