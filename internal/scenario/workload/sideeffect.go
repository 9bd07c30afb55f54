package workload

import "github.com/redlock-sim/redlock-sim/internal/history"

func init() {
	register(Workload{
		Name: "side-effect", Title: "send each e-mail once",
		Reads: 1, Writes: 2, Cell: Cell{Data: CounterData},
		Cells: map[string]Cell{cellMail: {Data: JobsData, Writes: "sends mail", Item: "mail", Twice: "went out twice"}},
		run:   Plan.mails,
	})
}

// The cells of a side effect: the number of the last e-mail sent, and the
// e-mails themselves, which nobody can check tokens on.
const (
	cellSent = "sent"
	cellMail = "mail"
)

// mails sends e-mails, each once: reads the number of the last one, sends the
// next, and writes its number down. The e-mail has no fence; what has been sent
// twice stays so.
func (p Plan) mails(s Session) {
	p.sections(s, func(section int) {
		sent, ok := p.read(s, section, cellSent)
		if !ok || !p.think(s) {
			return
		}
		mail := s.Do(Request{F: history.Write, Section: section, Cell: cellMail, Number: history.Some(sent + 1), Check: p.Check, Unfenced: true})
		if mail.Type == history.OK {
			p.write(s, section, cellSent, sent+1)
		}
	})
}
