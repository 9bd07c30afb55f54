// Package edn reads and writes histories in the format of Jepsen's tools. That is EDN,
// the notation of Clojure: a map for each operation, in one vector or one after the
// other.
package edn
