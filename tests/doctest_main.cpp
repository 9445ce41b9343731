// The implementation of doctest and main(), compiled once for all test programs. Tests that run them are in
// doctest_programs.py.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
// Cases test what signals do: handlers of the framework would come before those of the code under test.
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>
