package serve

import (
	"context"
	"net"
	"net/http"

	"github.com/redlock-sim/redlock-sim/internal/app/play"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
)

// PlayAddr is where Play listens unless told otherwise: this machine alone.
const PlayAddr = "127.0.0.1:8138"

// playPath is where the playground lies beside stored runs.
const playPath = "/play"

// Play serves the playground alone, until ctx ends. There is no secret: the page is the same for everybody, and what it
// shows is in the part of the address that browsers keep to themselves. Ready gets its address.
func Play(ctx context.Context, addr string, html []byte, policy string, ready func(url string)) error {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		confine(w.Header(), policy+"; frame-ancestors 'none'")
		switch {
		case !knownHost(r.Host, nil):
			http.Error(w, "this server does not answer to that name", http.StatusMisdirectedRequest)
		case r.URL.Path != "/":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(html)
		}
	})
	return listen(ctx, addr, false, h, func(addr net.Addr, _ bool) { ready("http://" + addr.String() + "/") })
}

// playground shows the playground; which run it shows is behind the # of the address.
func (h *Handler) playground(w http.ResponseWriter, _ *http.Request) error {
	if h.o.Playground == nil {
		return machine.ErrNotRegular
	}
	html, policy, err := h.o.Playground()
	if err != nil {
		return &noPlayground{err}
	}
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.WithWayBack(html, "/", "All runs"))
	return nil
}

// noPlayground says why there is none.
type noPlayground struct{ error }

// withPlayground is a result whose page leads to the playground.
func (h *Handler) withPlayground(r *report.Result) *report.Result {
	if h.o.Playground == nil || !r.Plays() {
		return r
	}
	if _, _, err := h.o.Playground(); err != nil {
		return r // the page then names the command
	}
	if fragment, err := play.Fragment(r.ScenarioText, r.Seed, ""); err == nil {
		r.Playground = playPath + "#" + fragment
	}
	return r
}
