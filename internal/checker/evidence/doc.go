// Package evidence judges histories in files, those of sim or of other tools, against a
// model. It is the core of `sim check`.
//
//	report, err := evidence.CheckFile(ctx, "history.edn", evidence.Options{Model: "cas-register"})
//
// An error means one of two things: the file could not be read (errors.As to a
// *history.LineError names the line), or the options make no sense (*OptionError names
// the option). A check that came to no decision is a Report whose Verdict is
// checker.Unknown. Formats and Models list the names that Options takes.
//
// Without a model, a history of sim is judged by its properties. Any history can be
// written as EDN:
//
//	h, format, err := evidence.FromHistory(file, evidence.Auto, 0)
//	findings := checker.Judge(ctx, h, checker.Properties(), checker.Options{})
//	err = edn.Write(w, h)
package evidence
