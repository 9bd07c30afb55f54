package docstest

import (
	"regexp"
	"strconv"
	"strings"
)

// Command is a command of a page, with what the page shows of its output.
type Command struct {
	// Line may go over several lines, each but the last with a backslash at its end.
	Line string
	// Exit is the exit code that the page says: "# exit code 1" at the line's end.
	Exit   int
	Output string
}

var exitMark = regexp.MustCompile(`(?m)[ \t]+# exit code (\d+)\b.*$`)

// Commands are those of a block. In a console block they follow "$ ", and what stands
// below them is their output. In a block of sh each line is one.
func Commands(b Block) (list []Command) {
	continued := false
	for line := range strings.Lines(b.Text) {
		line = strings.TrimSuffix(line, "\n")
		command, begins := line, !continued
		if b.Language == "console" && begins {
			command, begins = strings.CutPrefix(line, "$ ")
		}
		switch {
		case begins:
			list = append(list, Command{Line: command})
		case continued:
			list[len(list)-1].Line += "\n" + line
		case len(list) > 0:
			list[len(list)-1].Output += line + "\n"
			continue
		}
		continued = strings.HasSuffix(line, `\`)
	}
	for i := range list {
		if m := exitMark.FindStringSubmatch(list[i].Line); m != nil {
			list[i].Exit, _ = strconv.Atoi(m[1])
		}
		list[i].Line = exitMark.ReplaceAllString(list[i].Line, "")
	}
	return list
}

// Script is a block of sh as a script for sh -e. A line that says with which exit code it
// ends has to end with it.
func Script(b Block) string {
	var s strings.Builder
	for _, c := range Commands(b) {
		if c.Exit == 0 {
			s.WriteString(c.Line + "\n")
			continue
		}
		code := strconv.Itoa(c.Exit)
		s.WriteString("code=0\n" + c.Line + " || code=$?\n" +
			"[ $code = " + code + " ] || { echo \"exit code $code, and not " + code + "\" >&2; exit 99; }\n")
	}
	return s.String()
}

// masks hide what differs from run to run.
var masks = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`"[A-Za-z0-9+/]{16,}=*"`), `"BYTES"`},
	{regexp.MustCompile(`(/[\w.+-]+){2,}`), "/PATH"},
	{regexp.MustCompile(`\b\d[\d.,]* ?(ns|us|ms|s|min|h)\b`), "TIME"},
	{regexp.MustCompile(`\d[\d.,]*\b`), "N"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m)^ | $`), ""},
	{regexp.MustCompile(`\n+`), "\n"},
}

// Shape is an output without what differs from run to run: numbers, times, paths, and the
// widths of columns.
func Shape(output string) string {
	for _, m := range masks {
		output = m.what.ReplaceAllString(output, m.by)
	}
	return strings.TrimSpace(output) + "\n"
}

// Shows says whether an output has the shape that a page shows. A line "..." of the page
// stands for any lines.
func Shows(page, output string) bool {
	want := regexp.QuoteMeta(Shape(page))
	want = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(want, `(?:.*\n)*?`)
	return regexp.MustCompile(`\A` + want + `\z`).MatchString(Shape(output))
}
