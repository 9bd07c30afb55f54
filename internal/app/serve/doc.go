// Package serve shows stored runs in a browser: a list with a search, each run's report,
// two runs side by side, and the progress of a run that is going on. It serves one
// folder and nothing else, to whoever has the secret, and only to this machine unless told
// otherwise.
package serve
