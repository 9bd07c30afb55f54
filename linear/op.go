package linear

import "math"

// Never is the return of an operation whose outcome is unknown: it may take
// effect at any time after its call, or not at all.
const Never = math.MaxInt64

// None is the value of what is not known.
const None = math.MinInt64

// Kind is what an operation does. A and B are its values.
type Kind uint8

const (
	// Acquire takes a lock; A is the grant's token, None where it has none, and
	// B the tag that names the grant, where grants are tagged.
	Acquire Kind = iota + 1
	// Release gives a lock back; B is the tag of the grant.
	Release
	// Expire ends a grant at the instant that was promised; B is its tag.
	Expire
	// Read saw the value A.
	Read
	// Write wrote the value A.
	Write
	// CAS found the value A and wrote B.
	CAS
	// CASFailed wanted A, changed nothing, and saw B; None where it did not tell.
	CASFailed
	// Add added A to a counter and does not know what came of it.
	Add
	// Append added the element A to a list and found B elements there; None
	// where it did not look.
	Append
	// ReadList saw the list of number A in History.Lists.
	ReadList
	// Sell took A units from a stock.
	Sell
	// Run ran the job of the tick A.
	Run
	// Insert put the element A into a set; ReadSet saw the set of number A in
	// History.Lists.
	Insert
	ReadSet
)

var kindNames = [...]string{Acquire: "acquire", Release: "release", Expire: "expiry", Read: "read", Write: "write", CAS: "cas",
	CASFailed: "failed cas", Add: "add", Append: "append",
	ReadList: "read of a list", Sell: "sale", Run: "run", Insert: "insert", ReadSet: "read of a set"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "operation without a kind"
}

// Kinds is a set of kinds.
type Kinds uint32

// KindsOf is the set of the kinds in the list.
func KindsOf(list ...Kind) Kinds {
	var s Kinds
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// Has reports whether the kind is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 == 1 }

// Op is one operation. An operation with Return == Never is optional: it may be
// left out of an explanation. All others must find their place in it.
type Op struct {
	// Call and Return bound the operation. The interval is closed: where one
	// operation returns at the instant at which another is called, the two are
	// concurrent, because stamps are coarser than the order of things.
	Call, Return int64
	// A and B are the values of the operation; see Kind.
	A, B int64
	// Process is who did it.
	Process int32
	Kind    Kind
	// Maybe says that an explanation may leave the operation out, as if it were
	// optional; but where it took effect, it did so before its return. Only the
	// frontier search can decide a history with such operations; the direct
	// algorithms and porcupine leave it undecided.
	Maybe bool
}

// whyMaybe is why an algorithm leaves a history undecided that has operations
// which are Maybe.
const whyMaybe = "an operation with a return may have had no effect (Maybe), which the frontier search alone can judge"

// Optional reports whether an explanation may leave the operation out.
func (o *Op) Optional() bool { return o.Return == Never }

// idle reports whether the operation changes nothing.
func (o *Op) idle() bool {
	switch o.Kind {
	case Read, CASFailed, ReadList, ReadSet:
		return true
	}
	return false
}

// History is a set of operations, in any order, on one thing.
type History struct {
	Ops []Op
	// Lists are what reads of lists and sets saw.
	Lists [][]int64
	// Initial is the value, the length or the stock at the beginning.
	Initial int64
}

// Outcome is what a decision came to.
type Outcome uint8

const (
	// Legal: there is an explanation.
	Legal Outcome = iota + 1
	// Illegal: there is none.
	Illegal
	// Undecided: the search was given up, or the algorithm does not apply.
	Undecided
)

var outcomeNames = [...]string{Legal: "legal", Illegal: "illegal", Undecided: "undecided"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) && outcomeNames[o] != "" {
		return outcomeNames[o]
	}
	return "none"
}

// Result is a decision.
type Result struct {
	Outcome Outcome
	// Witness are operations, as indices, that cannot be explained whatever the
	// others did: at most four, save where a counter has unknown steps that know
	// their value and others that do not. Direct algorithms name them; the
	// frontier search names the one operation at which it ended.
	Witness []int
	// Why says, where the outcome is Illegal, what is wrong, and where it is
	// Undecided, why no decision was reached.
	Why string
}

func legal() Result { return Result{Outcome: Legal} }

func illegal(why string, witness ...int) Result {
	return Result{Outcome: Illegal, Why: why, Witness: witness}
}

func undecided(why string) Result { return Result{Outcome: Undecided, Why: why} }
