package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain makes text of unknown origin fit for one line of a terminal or a log.
// A scenario's name, a client's output or a path could otherwise carry escape
// sequences (ESC, but also the C1 controls, which some terminals obey when they
// come as UTF-8) or turn the order of the line around. White space becomes a
// space; whatever would not be seen is written as Go would escape it.
func plain(s string) string {
	if !strings.ContainsFunc(s, needsCare) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				fmt.Fprintf(&b, `\x%02x`, s[i])
				continue
			}
			b.WriteRune(r)
		case !needsCare(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// needsCare: control characters, characters without a shape of their own (bidi
// marks and overrides, zero-width ones, tags) and line separators.
func needsCare(r rune) bool {
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// PlainLines passes lines on that are fit for a terminal, as plain makes them. Each Write
// has whole lines.
type PlainLines struct{ io.Writer }

func (p PlainLines) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	if _, err := io.WriteString(p.Writer, strings.Join(lines, "\n")); err != nil {
		return 0, fmt.Errorf("failed to write: %w", err)
	}
	return len(b), nil
}

// missingShards names the shards that something merged lacks.
func missingShards(list []string) string {
	if len(list) == 1 {
		return "The shard " + plain(list[0]) + " is missing"
	}
	return fmt.Sprintf("%s are missing: %s", count(len(list), "shard"), plain(strings.Join(list, "; ")))
}
