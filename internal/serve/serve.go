package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

// DefaultAddr is where Run listens unless told otherwise: this machine alone.
const DefaultAddr = "127.0.0.1:8137"

// Options say what is served.
type Options struct {
	// Dir is the folder with the runs: <scenario>/<stamp>-<seed>/...
	Dir string
	// Hosts are names, beside those of the loopback interface, under which the
	// server may be addressed. A request under any other name is refused: a
	// page from elsewhere could otherwise point a name of its own at this
	// machine and read the reports (DNS rebinding).
	Hosts []string
	// ReadOnly refuses to delete runs.
	ReadOnly bool
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// Handler serves the runs of one folder.
type Handler struct {
	o     Options
	root  *os.Root
	mux   *http.ServeMux
	outer http.Handler
	token string
	cache resultCache
}

var _ http.Handler = (*Handler)(nil)

// New opens the folder. Close it after use.
func New(o Options) (*Handler, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("failed to open the reports: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{o: o, root: root, mux: http.NewServeMux(), token: rand.Text(), cache: resultCache{entries: map[string]cachedResult{}}}
	h.mux.HandleFunc("GET /{$}", h.page(h.list))
	h.mux.HandleFunc("GET /style.css", h.style)
	h.mux.HandleFunc("GET /run/{scenario}/{run}/{$}", h.page(h.run))
	h.mux.HandleFunc("GET /run/{scenario}/{run}", h.page(h.slash))
	h.mux.HandleFunc("GET /run/{scenario}/{run}/file/{path...}", h.page(h.file))
	h.mux.HandleFunc("GET /compare", h.page(h.compare))
	h.mux.HandleFunc("GET /compare/pictures", h.page(h.pictures))
	h.mux.HandleFunc("POST /delete", h.page(h.remove))
	h.outer = http.NewCrossOriginProtection().Handler(h.mux)
	return h, nil
}

// Close lets go of the folder.
func (h *Handler) Close() error { return h.root.Close() }

// pagePolicy allows our style sheet and forms to ourselves, and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP refuses foreign names and sets the headers that confine a page
// before anything else happens.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", pagePolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	if !h.known(r.Host) {
		http.Error(w, "this server does not answer to that name", http.StatusMisdirectedRequest)
		return
	}
	h.outer.ServeHTTP(w, r)
}

// known reports whether a Host header names this server.
func (h *Handler) known(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.ContainsFunc(h.o.Hosts, func(s string) bool { return strings.EqualFold(s, name) }) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func (h *Handler) style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write([]byte(report.Stylesheet() + serveStyle))
}

// page is a handler that may fail.
func (h *Handler) page(show func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := show(w, r); err != nil {
			h.fail(w, err)
		}
	}
}

// fail answers with what went wrong: not found, or our own trouble. The
// answer never has a path of the machine in it.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	code, text := http.StatusInternalServerError, "the run could not be read"
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, errBadName):
		code, text = http.StatusNotFound, "there is no such run"
	case errors.Is(err, errLive):
		code, text = http.StatusConflict, "the run is still in progress"
	}
	http.Error(w, text, code)
}

// remove deletes a run. The token proves that the form was ours; requests from
// other sites were refused before.
func (h *Handler) remove(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	if h.o.ReadOnly {
		http.Error(w, "this server is read-only: it deletes nothing", http.StatusForbidden)
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(h.token)) != 1 {
		http.Error(w, "the form is out of date: load the list again", http.StatusForbidden)
		return nil
	}
	id, err := parseID(r.PostFormValue("run"))
	if err == nil {
		err = h.delete(id)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// Run serves until ctx ends. An address beyond the loopback interface is
// refused unless remote says that this is meant.
func Run(ctx context.Context, addr string, remote bool, h *Handler, ready func(url string)) error {
	if addr == "" {
		addr = DefaultAddr
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("failed to listen: %w", err)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); !remote && (!ok || !tcp.IP.IsLoopback()) {
		_ = ln.Close()
		return fmt.Errorf("%s can be reached from other machines: the reports would be open to all of them", ln.Addr())
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	if ready != nil {
		ready("http://" + ln.Addr().String() + "/")
	}
	select {
	case err := <-done:
		return fmt.Errorf("failed to serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		return srv.Close()
	}
	return nil
}
