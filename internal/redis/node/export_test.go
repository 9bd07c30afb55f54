package node

// Row is what a command's row says, for tests.
type Row struct {
	Name                   string
	Arity                  int
	Write, NoScript, Reads bool
	First, Last, Step      int
	Container              bool
	Others                 string
}

// Rows are all rows.
func Rows() (list []Row) {
	add := func(r *row) {
		if r.since != nil { // the real server is of Redis 7.0
			return
		}
		list = append(list, Row{r.name, r.arity, r.flags&write != 0, r.flags&noScript != 0, r.flags&write == 0 && r.last != 0,
			r.first, r.last, r.step, r.subs != nil, r.others})
	}
	for _, r := range table {
		add(r)
		for _, sub := range r.subs {
			add(sub)
		}
	}
	return list
}

// Unmodelled are the commands that have no row.
const Unmodelled = unmodelled
