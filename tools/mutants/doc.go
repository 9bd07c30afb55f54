// Mutants changes the packages that verdicts rest on in small ways, one at a time, and
// counts how many of the changes their own tests notice. It writes the table of
// docs/internals/mutants.md.
//
//	make mutants P='-survivors internal/lock'
//
// With -survivors it tries only those again that lived the last time. That is right as
// long as nothing but tests was added since.
//
// A change that no test can notice is listed in equal.txt beside this file, with the
// reason. The exit code is 1 if a package misses its aim.
package main
