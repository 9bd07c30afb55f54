// Package suite is for tests: which tests belong to which suite, whose turn it is, and what a machine lacks for them.
//
// There are two suites. `make test` is what a contributor runs: a few minutes. `make test-all` is every test there is. CI runs
// `make test` and one part of the rest. REDLOCK_SIM_TESTS says which: nothing, "all", or a part such as "3/8".
package suite
