package facts_test

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// What a history tells of a client that was killed while it held the lock.
func Example() {
	h, err := history.Decode(strings.NewReader(
		`{"format":"redlock-sim-history","version":1,"clients":["c1","c2"],"nodes":["A"],"ttl":1000000000}
{"index":0,"time":1000000,"process":"c1","type":"invoke","f":"acquire","value":{}}
{"index":1,"time":2000000,"process":"A","type":"info","f":"key-set","value":{"owner":"x","key":"lock","client":"c1","ttl":1000000000}}
{"index":2,"time":3000000,"process":"c1","type":"ok","f":"acquire","value":{"owner":"x","valid_until":900000000}}
{"index":3,"time":500000000,"process":"nemesis","type":"info","f":"fault-begin",`+
			`"value":{"id":1,"fault":"kill","target":"c1","impact":{"effects":[{"does":"kills","clients":["c1"]}]}}}
{"index":4,"time":1002000000,"process":"A","type":"info","f":"key-expired","value":{"key":"lock"}}
`), 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := facts.Of(h)
	for i := range f.Grants {
		g := &f.Grants[i]
		if g.Ending == facts.Killed && !g.LastPromise().EndedBefore(f.At(g.End)) {
			fmt.Println(g.Client, "was killed at", f.At(g.End), "and could rely on the lock until", g.LastPromise().End)
		}
	}
	for _, k := range f.KeyLives() {
		fmt.Println("the key of", k.Client, "was there until", f.At(k.End))
	}
	// Output:
	// c1 was killed at 500ms and could rely on the lock until 900ms
	// the key of c1 was there until 1.002s
}
