// Package plain makes text of unknown origin fit for a terminal, JSON, HTML and Markdown: it is
// read as it stands, and nothing in it is obeyed.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text makes text of unknown origin fit for one line of a terminal or a log.
// A scenario's name, a client's output or a path could otherwise carry escape
// sequences (ESC, but also the C1 controls, which some terminals obey when they
// come as UTF-8) or turn the order of the line around. White space becomes a
// space; whatever would not be seen is written as Go would escape it.
func Text(s string) string {
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

// Lines passes lines on that are fit for a terminal, as Text makes them. Each Write
// has whole lines.
type Lines struct{ io.Writer }

func (p Lines) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = Text(lines[i])
	}
	if _, err := io.WriteString(p.Writer, strings.Join(lines, "\n")); err != nil {
		return 0, fmt.Errorf("failed to write: %w", err)
	}
	return len(b), nil
}

// HTML writes out what a page would obey without showing it: a bidi
// override in a name must not turn our own words around. Neither our pages nor
// their scripts contain such runes.
func HTML(doc []byte) []byte {
	if utf8.Valid(doc) && !bytes.ContainsFunc(doc, hidden) {
		return doc
	}
	out := make([]byte, 0, len(doc))
	for _, r := range string(doc) {
		switch {
		case !hidden(r):
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\U%08x`, r)
		}
	}
	return out
}

func hidden(r rune) bool {
	return needsCare(r) && r != '\n' && r != '\t' && r != '\r' && r != utf8.RuneError
}

// JSON writes as \uXXXX what encoding/json leaves as it is and a
// terminal may obey. Such runes occur inside strings only, so the meaning
// stays the same.
func JSON(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		if r == '\n' || r == utf8.RuneError || !needsCare(r) {
			out = append(out, doc[:size]...)
		} else {
			for _, half := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, half)
			}
		}
		doc = doc[size:]
	}
	return out
}

// Clip cuts a text to at most n runes.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Markdown makes text of unknown origin stand for itself: a name must not be a
// link, an image, a mention, HTML or the end of a table's cell.
func Markdown(s string) string {
	var b strings.Builder
	for _, r := range Text(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("@<!-- -->")
		case strings.ContainsRune("\\`*_{}[]()#+!|~:", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// MarkdownCode writes text of unknown origin as code in a line, with a fence longer than any in it.
func MarkdownCode(s string) string {
	s = Text(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}
