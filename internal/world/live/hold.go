package live

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// holdToxic keeps everything back until it is removed, and then passes it on in
// order: a message that arrives late, not one that is lost. A sender that gives
// up and closes its connection does not call back what it has sent.
type holdToxic struct{}

// holdType is its name among toxiproxy's toxics.
const holdType = "redlock-sim-hold"

// passOnWithin bounds how long a receiver that went away is waited for.
const passOnWithin = 200 * time.Millisecond

func init() { toxics.Register(holdType, new(holdToxic)) }

// Pipe implements toxics.Toxic. After the sender's close only an interrupt ends
// it; toxiproxy then sees the closed input and closes the rest itself.
func (*holdToxic) Pipe(stub *toxics.ToxicStub) {
	var held []*stream.StreamChunk
	input := stub.Input
	for {
		select {
		case <-stub.Interrupt:
			for _, chunk := range held {
				if stub.WriteOutput(chunk, passOnWithin) != nil {
					return
				}
			}
			return
		case chunk := <-input:
			if chunk == nil {
				input = nil
				continue
			}
			held = append(held, chunk)
		}
	}
}
