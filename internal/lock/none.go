package lock

import "time"

func init() {
	register(Algorithm{
		Name: "none", Title: "no lock: everybody is granted at once, for ever", MinNodes: 1, Tokens: []Tokens{NoTokens}, Keyless: true,
		New: func(_ Config, env Env) Lock { return noLock{env} },
	})
}

// noLock is for what does without a lock, and to see what a lock is good for.
type noLock struct{ env Env }

var _ Lock = noLock{}

func (l noLock) Acquire() (Grant, Result) {
	return Grant{Owner: newOwner(l.env), Forever: true}, Result{Outcome: OK}
}

func (noLock) Release(Grant) Result          { return Result{Outcome: OK} }
func (noLock) Remaining(Grant) time.Duration { return 0 }
