package command

// Replay follows one key of a node through the commands that the node carries out,
// of which it learns the words but not the answers.
type Replay struct {
	Name   string // of the key
	DB     int    // the database that it is in
	Server Server
	// Payload tells what key a payload of DUMP is, but for its end; nil: nobody knows any.
	Payload func(payload string) (k Key, known bool)
	Key
}

// Executed is a command that a node has carried out.
type Executed struct {
	Words []string
	// DB is the database of the connection.
	DB int
	// At is when it began, on the node's clock.
	At Span
}

// Did says what a command did to a key.
type Did uint8

const (
	// Kept: the key is as it was before.
	Kept Did = iota
	// Wrote: the key was written, or made.
	Wrote
	// Extended: its expiry was changed.
	Extended
	// Deleted: it was removed.
	Deleted
	// Obscured: nobody can tell what the key holds now.
	Obscured
)

// Change is what a command did.
type Change struct {
	Did Did
	// Expired: the key had run out before.
	Expired bool
	// Ends: the command itself said when the key ends, or that it does not.
	Ends bool
	// Lasting: the command waits, and may write the key at any time from now on,
	// unseen.
	Lasting bool
	// Either is set where all that is in doubt is whether the key had run out
	// before: what became of it if it had not, and if it had.
	Either []Result
}

// Result is one of several things that may have happened.
type Result struct {
	Change
	After Key
}

// See replays a command. mayBeGone says that the key may have run out unseen,
// whatever At is now: the node's clock was ahead for a time.
func (r *Replay) See(c Executed, mayBeGone bool) Change {
	e := lookup(c.Words)
	if !e.concerns(r, c) {
		return Change{}
	}
	over, perhaps := r.life(c.At)
	perhaps = perhaps || mayBeGone && r.Expires != (Span{})
	switch {
	case r.Holds == Unclear:
		return r.clear(e, c)
	case over:
		o := r.result(e, c, Key{})
		if r.OfField { // Redis may not have removed the field yet, and lets HPEXPIRE bring it back then
			switch alive := r.result(e, c, r.Key).Did; {
			case alive == Extended || alive == Obscured:
				o = obscured()
			case alive == Kept && o.Did == Kept:
				return Change{}
			}
		}
		o.Expired = true
		r.Key = o.After
		return o.Change
	case !perhaps:
		o := r.result(e, c, r.Key)
		r.Key = o.After
		return o.Change
	}
	alive, gone := r.result(e, c, r.Key), r.result(e, c, Key{})
	if alive.Did == Kept && gone.Did == Kept {
		return Change{}
	}
	gone.Expired = true
	r.Key = Key{Holds: Unclear}
	either := []Result{alive, gone}
	if alive.Did == Obscured || gone.Did == Obscured {
		either = nil
	}
	return Change{Did: Obscured, Either: either, Lasting: alive.Lasting || gone.Lasting}
}

// Concerns reports whether a command may change the key.
func (r *Replay) Concerns(c Executed) bool {
	e := lookup(c.Words)
	return e.effect != nil && e.concerns(r, c)
}

// Outcomes are what a command can do to the key where it is as k says, and has not run out. Of a field that had run out a server says
// nothing where another is written in its place.
func (r *Replay) Outcomes(c Executed, k Key) []Result {
	e := lookup(c.Words)
	if k.Holds != Unclear {
		outcomes := []Result{r.result(e, c, k)}
		if _, perhaps := k.life(c.At); perhaps && k.OfField {
			outcomes = append(outcomes, r.result(e, c, Key{}))
		}
		return outcomes
	}
	var list []Result
	for _, k := range strangers {
		list = append(list, r.result(e, c, k))
	}
	return list
}

// strangers are keys of every sort, for a key of which nothing is known: what a
// command makes of all of them it makes of any.
var strangers = []Key{
	{}, {Holds: Text}, {Holds: Text, Value: "7", Expires: At(1 << 60)},
	{Holds: Hash, Fields: map[string]string{"": ""}}, {Holds: Hash, Fields: map[string]string{"\x00": ""}, Expires: At(1 << 60)},
	{Holds: Hash, Fields: map[string]string{"": ""}, Expires: At(1 << 60), OfField: true},
	{Holds: List, Items: []string{""}}, {Holds: Members, Fields: map[string]string{"": ""}},
	{Holds: Sorted, Fields: map[string]string{"": "0"}},
}

// clear replays a command on a key of which nothing is known.
func (r *Replay) clear(e entry, c Executed) Change {
	first := r.result(e, c, strangers[0])
	change, agree := first.Change, first.After.Holds != Unclear
	for _, k := range strangers[1:] {
		o := r.result(e, c, k)
		agree = agree && o.After.Equal(first.After)
		change.Did = max(change.Did, o.Did)
		change.Lasting = change.Lasting || o.Lasting
	}
	if change.Did == Kept {
		return change
	}
	switch {
	case !agree:
		change.Did = Obscured
	case first.After.there():
		r.Key, change.Did = first.After, Wrote
	default:
		r.Key, change.Did = Key{}, Deleted
	}
	return change
}

// result is what a command does to a key that is as k says.
func (r *Replay) result(e entry, c Executed, k Key) Result {
	if e.effect == nil {
		return same(k)
	}
	return e.effect(act{Executed: c, r: r}, k)
}

// act is a command that is being replayed.
type act struct {
	Executed
	r *Replay
}

// names reports whether a word is the key's name.
func (a *act) names(i int) bool { return i < len(a.Words) && a.Words[i] == a.r.Name }

func same(k Key) Result    { return Result{Change{}, k} }
func removed() Result      { return Result{Change{Did: Deleted}, Key{}} }
func obscured() Result     { return Result{Change{Did: Obscured}, Key{Holds: Unclear}} }
func written(k Key) Result { return Result{Change{Did: Wrote}, k} }

// anew is a string that is written over whatever there was, without an end.
func anew(value string) Result { return Result{Change{Did: Wrote, Ends: true}, text(value)} }

func text(value string) Key { return Key{Holds: Text, Value: value} }
