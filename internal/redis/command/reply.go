package command

import "fmt"

// Outcome says what the caller of a command knows.
type Outcome uint8

const (
	// Done: the node carried the command out and answered.
	Done Outcome = iota + 1
	// Refused: the node certainly did not carry it out.
	Refused
	// Unknown: no answer came; the node may carry the command out at any time.
	Unknown
)

func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Refused:
		return "refused"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Reply is what came back. It is small, for locks ask often: what few replies have
// is apart. (The compiler keeps a struct in registers that has no more than 32 bytes
// and four fields.)
type Reply struct {
	Outcome Outcome
	// Nil, Int and what the methods answer speak only where Outcome is Done. SET
	// answers the string OK, or Nil where NX kept it from writing.
	Nil bool
	Int int64
	// more is nil where there is nothing more.
	more *more
}

type more struct {
	str, err string
	list     []string
	body     []Reply
}

var none more

func (r Reply) rest() *more {
	if r.more == nil {
		return &none
	}
	return r.more
}

// Str is the string that was answered.
func (r Reply) Str() string { return r.rest().str }

// Err says why the outcome is not Done, or is the error that a Done command was
// answered with; empty: there is none.
func (r Reply) Err() string { return r.rest().err }

// List are the elements that were answered.
func (r Reply) List() []string { return r.rest().list }

// Body are the replies to the commands of a transaction.
func (r Reply) Body() []Reply { return r.rest().body }

// OK reports whether the command was done and answered with neither nil nor an
// error.
func (r Reply) OK() bool { return r.Outcome == Done && !r.Nil && r.Err() == "" }

// Kind says what was answered.
type Kind uint8

// The kinds of answers.
const (
	ErrKind Kind = iota + 1
	NilKind
	IntKind
	StatusKind
	StrKind
	ListKind
)

// Kind says what was answered to a command that is no transaction.
func (r Reply) Kind() Kind {
	switch m := r.more; {
	case r.Outcome != Done || r.Err() != "":
		return ErrKind
	case r.Nil:
		return NilKind
	case m == nil:
		return IntKind
	case m == &answeredOK:
		return StatusKind
	case m.list != nil:
		return ListKind
	}
	return StrKind
}

// String shows what a person compares.
func (r Reply) String() string {
	m := r.rest()
	switch {
	case r.Outcome != Done || m.err != "":
		return fmt.Sprintf("%v: %q", r.Outcome, m.err)
	case r.Nil:
		return "nil"
	case m.list != nil || m.body != nil:
		return fmt.Sprintf("%q%v", m.list, m.body)
	}
	return fmt.Sprintf("%d%q", r.Int, m.str)
}

var answeredOK = more{str: "OK"}

// IntReply and its like build replies to commands that were done: BodyReply that to
// a transaction.
func IntReply(n int64) Reply          { return Reply{Outcome: Done, Int: n} }
func NilReply() Reply                 { return Reply{Outcome: Done, Nil: true} }
func OKReply() Reply                  { return Reply{Outcome: Done, more: &answeredOK} }
func StrReply(s string) Reply         { return Reply{Outcome: Done, more: &more{str: s}} }
func ErrReply(message string) Reply   { return Reply{Outcome: Done, more: &more{err: message}} }
func ListReply(l ...string) Reply     { return Reply{Outcome: Done, more: &more{list: l}} }
func BodyReply(replies []Reply) Reply { return Reply{Outcome: Done, more: &more{body: replies}} }

// RefusedReply and UnknownReply build the others, and say why.
func RefusedReply(why string) Reply { return Reply{Outcome: Refused, more: &more{err: why}} }
func UnknownReply(why string) Reply { return Reply{Outcome: Unknown, more: &more{err: why}} }
