// Package locklog reads lock logs: the lines that applications in production write about the locks that they ask for, each process
// by its own clock. docs/guide/production-log.md has the format.
//
//	var log locklog.Log
//	err := log.Read("web-1.jsonl", file)
//	h, err := log.History(50 * time.Millisecond)
//
// An error names the file and the line.
package locklog
