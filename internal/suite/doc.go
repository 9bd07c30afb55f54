// Package suite is for tests: which tests belong to which suite, and what a machine lacks for them.
package suite
