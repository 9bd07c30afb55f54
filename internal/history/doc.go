// Package history holds what happened in a run: the operations that the clients asked
// for, and what was observed beside them. It uses Jepsen's words. It knows nothing of
// the worlds that produce histories, nor of the checkers that judge them.
package history
