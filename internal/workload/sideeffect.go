package workload

import (
	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// The cells of a side effect: the number of the last e-mail sent, and the
// e-mails themselves, which nobody can check tokens on.
const (
	CellSent = "sent"
	CellMail = "mail"
)

// mails sends e-mails, each once: reads the number of the last one, sends the
// next, and writes its number down. The e-mail has no fence; what has been sent
// twice stays so.
func (p Plan) mails(s Session) {
	p.sections(s, func(section int) {
		sent, ok := p.read(s, section, CellSent)
		if !ok || !p.think(s) {
			return
		}
		mail := s.Do(client.Request{F: history.Write, Section: section, Cell: CellMail, Number: history.Some(sent + 1), Check: p.Check, Unfenced: true})
		if mail.Type == history.OK {
			p.write(s, section, CellSent, sent+1)
		}
	})
}
