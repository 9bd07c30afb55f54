package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// ErrToken: the secret that was chosen is none.
var ErrToken = errors.New("the secret must have 16 to 256 characters, of letters, digits, -, ., _ and ~")

// Such a secret can stand in an address as it is.
var goodToken = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,256}$`)

// cookieOf is what a browser keeps in the place of the secret: who reads the
// cookie does not learn a secret that its owner may use elsewhere, too.
func cookieOf(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("cookie of sim serve"))
	return hex.EncodeToString(mac.Sum(nil))
}

// cookieName has the port in it, as the browser sees it: a browser sends the cookies of
// one port to all others of the machine, and there may be a server behind each.
func cookieName(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		port = "80"
	}
	return "sim-" + port
}

// admit lets a request with the secret pass. The address with the secret turns
// it into a cookie, and leads to the same address without it: so it stays neither
// in the address bar nor in the addresses that the browser passes on.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) bool {
	name, admitted := cookieName(r.Host), false
	for _, c := range r.CookiesNamed(name) {
		admitted = admitted || h.right(c.Value)
	}
	query := r.URL.Query()
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && query.Has("token") {
		if h.right(cookieOf(query.Get("token"))) {
			c := http.Cookie{ //nolint:gosec // there is no TLS: a browser would not send back a Secure cookie
				Name: name, Value: h.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			}
			http.SetCookie(w, &c)
			admitted = true
		}
		if admitted {
			query.Del("token")
			to := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/") // of two slashes a browser makes another host
			if len(query) > 0 {
				to += "?" + query.Encode()
			}
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusSeeOther)
			return false
		}
	}
	if !admitted {
		_ = h.render(w, http.StatusForbidden, "locked.tmpl", r.Header.Get("Sec-Fetch-Site") == "cross-site")
	}
	return admitted
}

func (h *Handler) right(cookie string) bool {
	return subtle.ConstantTimeCompare([]byte(cookie), []byte(h.cookie)) == 1
}
