// kind: another library
// tries: has no functions, but needs a library that has them
// ended by: functions are looked up in the file of the library itself
// named: only libraries that this one needs define
// skeleton: false
// link: ["-Wl,--no-as-needed", REFERENCE]
int nothing;
